// Nothing here is called by name: the definitions take the place of those of Synchronization when they are linked.
