"use strict";
// What the page says can be read without this: it only narrows pictures down, and keeps a live page up to date.
const prepare = () => {
  for (const holder of document.querySelectorAll("[data-fastest]")) {
    const lines = [...holder.querySelectorAll("[data-rank]")];
    const most = 1 + Math.max(...lines.map((line) => Number(line.dataset.rank)));
    const range = Object.assign(document.createElement("input"), {type: "range", min: 1, max: most, value: most});
    const said = document.createElement("output");
    const show = () => {
      said.textContent = Number(range.value) === most ? "all" : `the fastest ${range.value}`;
      for (const line of lines) line.classList.toggle("hidden", Number(line.dataset.rank) >= Number(range.value));
    };
    range.addEventListener("input", show);
    const label = document.createElement("label");
    label.className = "range";
    label.append("Show", range, said);
    holder.prepend(label);
    show();
  }
};
prepare();
if (document.body.hasAttribute("data-live")) {
  const state = document.getElementById("state");
  let revision = null;
  const update = async () => {
    try {
      const told = await (await fetch("revision", {cache: "no-store"})).text();
      if (revision !== null && told !== revision) {
        const answer = await fetch("", {cache: "no-store"});
        const next = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("page");
        const page = document.getElementById("page");
        const open = [...page.querySelectorAll("details")].map((each) => each.open);
        next.querySelectorAll("details").forEach((each, k) => { each.open = open[k] ?? false; });
        page.replaceWith(next);
        prepare();
      }
      revision = told;
      state.textContent = "live";
      setTimeout(update, 2000);
    } catch {
      state.textContent = "the program has ended; this is what it left";
    }
  };
  update();
}
