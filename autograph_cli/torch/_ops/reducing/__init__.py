"""Operations that make few elements of many."""
