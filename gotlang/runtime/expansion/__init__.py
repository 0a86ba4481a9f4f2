"""How regions of the IR become operations of an execution graph."""
