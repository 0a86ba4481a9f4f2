"""Python that changes the execution graph of a run: an optional package above the runtime."""
