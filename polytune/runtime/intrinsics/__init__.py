"""Operations that generated text calls inside of compiled code."""
