"""Operations that make tensors, convert, show and hand them over."""
