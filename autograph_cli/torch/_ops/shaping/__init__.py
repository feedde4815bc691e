"""Operations that show the same elements in another shape, or put them elsewhere."""
