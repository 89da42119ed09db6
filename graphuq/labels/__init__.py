"""Labels: the classes that nodes are said to have, as users and annotators give them."""
