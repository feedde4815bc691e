"""Operations that read and write by position, and that put in order."""
