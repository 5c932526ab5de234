"""CUDA text to machine code without a GPU, and what can be read from the code."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys

import pytest

from polytune.errors import DeviceCompilationError
from polytune.runtime.devices import nvcc, nvrtc
from polytune.runtime.devices.backends import PRELUDES
from polytune.runtime.devices.cubin import kernel_needs

KERNELS = """
PT_KERNEL(64, 1, 1) shared(i64 n, PT_GLOBAL f64 *a, i32 m)
{
    PT_SHARED f64 s[65];
    s[PT_THREAD_X] = a[PT_THREAD_X];
    PT_BARRIER();
    a[PT_THREAD_X] = s[64 - PT_THREAD_X] + n + m;
}
PT_KERNEL(64, 1, 1) slow(PT_GLOBAL f64 *a)
{
    f64 own[100];
    for (int i = 0; i < 100; i++) own[i] = a[i];
    a[PT_THREAD_X] = own[(int)a[1]];
}
"""


@pytest.fixture
def found_anew():
    """NVRTC is looked for in the test, and again after it."""
    nvrtc._library.cache_clear()
    yield
    nvrtc._library.cache_clear()


@pytest.fixture
def no_nvrtc(monkeypatch, found_anew):
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(()))


@pytest.fixture(scope="module")
def cubin() -> bytes:
    """For a Hopper GPU."""
    if nvrtc._library() is None:
        pytest.skip(f"there is no NVRTC: {nvrtc.INSTALL}")
    return nvrtc.compile(PRELUDES["cuda"] + KERNELS, "sm_90", nvrtc.options(contract=False))


def test_needs_of_kernels(cubin):
    first, second = kernel_needs(cubin, "shared"), kernel_needs(cubin, "slow")
    assert (first.shared_memory, first.local_memory, first.arguments) == (65 * 8, 0, 20)
    assert (second.shared_memory, second.local_memory, second.arguments) == (0, 800, 8)
    assert 4 <= first.registers <= 64
    assert 4 <= second.registers <= 64


def test_needs_do_not_depend_on_what_the_architecture_reserves(cubin):
    older = nvrtc.compile(PRELUDES["cuda"] + KERNELS, "sm_80", nvrtc.options(contract=False))
    assert kernel_needs(older, "shared").shared_memory == kernel_needs(cubin, "shared").shared_memory


def test_kernel_that_is_not_there(cubin):
    with pytest.raises(DeviceCompilationError, match=r"no kernel nowhere, only .*shared"):
        kernel_needs(cubin, "nowhere")


@pytest.mark.parametrize("content", [b"", b"text", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + bytes(200)])
def test_file_that_is_no_cubin(content):
    with pytest.raises(DeviceCompilationError, match=r"cubin|no kernel"):
        kernel_needs(content, "shared")


def test_truncated_cubin(cubin):
    """However much is missing, the error is one of ours or the numbers are right."""
    whole = kernel_needs(cubin, "shared")
    for size in range(0, len(cubin), 97):
        try:
            assert kernel_needs(cubin[:size], "shared") == whole
        except DeviceCompilationError:
            continue


def test_contraction_is_an_option(cubin):
    text = PRELUDES["cuda"] + "PT_KERNEL(1, 1, 1) rest(PT_GLOBAL f64 *a) { a[0] = a[1] * a[2] + a[3]; }\n"
    apart = nvrtc.compile(text, "sm_90", nvrtc.options(contract=False))
    together = nvrtc.compile(text, "sm_90", nvrtc.options(contract=True))
    assert apart != together


def test_every_function_compiles_for_a_gpu(cubin):
    """All functions of the prelude, for each type that they are of."""
    from tests.runtime.devices.test_arithmetic import BINARY, FLOAT_CALLS, NUMPY_CALLS, WRAPPING

    text = PRELUDES["cuda"]
    for short in ("f32", "f64", "i32", "i64"):
        names = dict.fromkeys(BINARY, 2) | {"abs": 1}
        names |= FLOAT_CALLS | NUMPY_CALLS if short.startswith("f") else dict.fromkeys(WRAPPING, 2) | {"negate": 1}
        lines = [f"pt_atomic_add_{short}(a, a[1]);"]
        for place, (name, arity) in enumerate(names.items()):
            lines.append(f"a[{place}] = pt_{name}_{short}({', '.join(('a[1]', 'a[2]')[:arity])});")
        text += f"PT_KERNEL(1, 1, 1) all_{short}(PT_GLOBAL {short} *a)\n{{\n" + "\n".join(lines) + "\n}\n"
    code = nvrtc.compile(text, "sm_90", nvrtc.options(contract=False))
    assert kernel_needs(code, "all_f64").registers > 0


def test_log_of_the_compiler_is_told(cubin):
    with pytest.raises(DeviceCompilationError, match=r"(?s)NVRTC .* cannot compile for sm_90.*nowhere"):
        nvrtc.compile("__global__ void wrong(double *a) { a[0] = nowhere; }", "sm_90")


def test_unknown_architecture(cubin):
    with pytest.raises(DeviceCompilationError, match="sm_13"):
        nvrtc.compile(KERNELS, "sm_13")


def test_library_that_is_named(monkeypatch, cubin, found_anew):
    path = nvrtc._library().path
    nvrtc._library.cache_clear()
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(()))
    monkeypatch.setenv("POLYTUNE_NVRTC", path)
    assert nvrtc.compiler().startswith("NVRTC ")


def test_library_that_is_named_wrongly(monkeypatch, found_anew):
    monkeypatch.setenv("POLYTUNE_NVRTC", "/nowhere/libnvrtc.so")
    with pytest.raises(DeviceCompilationError, match=r"POLYTUNE_NVRTC='/nowhere/libnvrtc.so'.*pip install"):
        nvrtc.compile(KERNELS, "sm_90")


def test_driver_gets_no_code_that_is_too_new(monkeypatch, cubin, found_anew):
    """Of several libraries the first that is old enough; without any, there is only nvcc."""
    ours = nvrtc._library()
    nvrtc._library.cache_clear()
    assert nvrtc.ForDriver(ours.major).compiler() == f"NVRTC {ours.version}"
    assert nvrtc.ForDriver(ours.major + 1).compiler() == f"NVRTC {ours.version}"
    monkeypatch.setattr(nvcc, "find", lambda: None)
    with pytest.raises(DeviceCompilationError, match=f"CUDA {ours.major - 1}.*nvidia-cuda-nvrtc-cu"):
        nvrtc.ForDriver(ours.major - 1).compile(KERNELS, "sm_90", [])


def test_neither_nvrtc_nor_nvcc(monkeypatch, no_nvrtc):
    monkeypatch.setattr(nvcc, "find", lambda: None)
    with pytest.raises(DeviceCompilationError, match="pip install nvidia-cuda-nvrtc"):
        nvrtc.compile(KERNELS, "sm_90")
    with pytest.raises(DeviceCompilationError, match="pip install nvidia-cuda-nvrtc"):
        nvrtc.compiler()


def made_up_nvcc(folder, body):
    program = folder / "nvcc"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(folder)


def test_nvcc_is_used_where_there_is_no_nvrtc(monkeypatch, no_nvrtc, tmp_path):
    """It gets the text, the architecture and the options, and the file that it writes is the code."""
    body = 'if [ "$1" = --version ]; then echo "release 13.0, V13.0.88"; exit; fi\n'
    body += 'shift\necho "$1 $2 $(cat "$5")" > "$4"'
    monkeypatch.setenv("PATH", f"{made_up_nvcc(tmp_path, body)}{os.pathsep}{os.environ['PATH']}")
    nvcc.compiler.cache_clear()
    assert nvrtc.compile("the text", "sm_90", ["--fmad=false"]) == b"--gpu-architecture=sm_90 --fmad=false the text\n"
    assert nvrtc.compiler() == "nvcc 13.0.88"
    nvcc.compiler.cache_clear()


def test_what_nvcc_says_is_told(monkeypatch, no_nvrtc, tmp_path):
    place = made_up_nvcc(tmp_path, "echo 'kernel.cu(1): error: nowhere is undefined' >&2; exit 2")
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(DeviceCompilationError, match=r"(?s)exit code 2.*nowhere is undefined"):
        nvrtc.compile("the text", "sm_90")


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc: install a CUDA toolkit")
def test_real_nvcc_gives_the_same_needs(cubin):
    code = nvcc.compile(PRELUDES["cuda"] + KERNELS, "sm_90", nvrtc.options(contract=False))
    assert kernel_needs(code, "shared").shared_memory == 65 * 8


def test_no_driver_and_no_pycuda_is_needed():
    """Compiling imports neither of the device packages."""
    program = (
        "import sys\nfrom polytune.runtime.devices import backends, cubin, nvrtc\n"
        "print(sorted({'pycuda', 'pyopencl'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "[]"
