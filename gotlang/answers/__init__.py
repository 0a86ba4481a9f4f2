"""Reading responses: forms, literals, conversion to types, extraction from prose, schemas."""
