# Custom Functions: what `autograd/function.py` and `function_outputs.py` do, where nothing is unusual: a part of fast_tape.pyx.

DEF GIVEN = 16  # gradients that a custom node is given at most, with itself

cdef PyObject *CUSTOM = NULL  # the base of the nodes, once it is known; owned
cdef object Function, finish
cdef object FIRST = frozenset((0,))
cdef Py_ssize_t TO_SAVE, DIRTY, CONSTANT_GIVEN, FOR_FORWARD, MATERIALIZES, IN_JVP, CONSTANT, DIFFERENTIABLE, TAKES_GRAD, NEEDS
cdef Py_ssize_t ITEM_EDGES, ITEM_RESULTS


def know_functions(function, node, end):
    """Take what belongs to custom Functions: their base and that of their nodes, and what looks at outputs after `forward`."""
    global CUSTOM, Function, finish, TO_SAVE, DIRTY, CONSTANT_GIVEN, FOR_FORWARD, MATERIALIZES, IN_JVP, CONSTANT
    global DIFFERENTIABLE, TAKES_GRAD, NEEDS, ITEM_EDGES, ITEM_RESULTS
    Function, finish = function, end
    TO_SAVE, DIRTY, CONSTANT_GIVEN = place(node, "to_save"), place(node, "dirty_tensors"), place(node, "non_differentiable")
    FOR_FORWARD, MATERIALIZES = place(node, "saved_for_forward"), place(node, "materialize_grads")
    IN_JVP, CONSTANT, DIFFERENTIABLE = place(node, "_ag_in_jvp"), place(node, "_ag_constant"), place(node, "_ag_differentiable")
    TAKES_GRAD, NEEDS = place(node, "_ag_takes_grad"), place(node, "needs_input_grad")
    ITEM_EDGES, ITEM_RESULTS = place(node, "_ag_item_edges"), place(node, "_ag_item_results")
    Py_INCREF(node)
    CUSTOM = <PyObject *>node


cdef bint wants_grad(PyObject *x) except -1:
    cdef PyObject *edge = edge_in(x)
    if type_of(edge) != <PyObject *>View:
        return edge != <PyObject *>None
    return SLOT(edge, VIEW_EDGE) != <PyObject *>None or (<object>SLOT(edge, VIEW_BASE)).requires_grad


cdef inline void put_truth(tuple to, Py_ssize_t i, bint truth):
    one = YES if truth else NO
    Py_INCREF(one)
    PyTuple_SET_ITEM(to, i, one)


cdef object context(cls, tuple args):
    """The `ctx`; None where an argument is a tensor of another kind."""
    cdef Py_ssize_t i, many = PyTuple_GET_SIZE(args)
    cdef PyObject *x
    cdef PyObject *node
    takes, needs = PyTuple_New(many), PyTuple_New(many)
    for i in range(many):
        x = <PyObject *>PyTuple_GET_ITEM(args, i)
        if not is_tensor(x) and is_kind_of(type_of(x), <PyObject *>Tensor):
            return None
        put_truth(takes, i, is_tensor(x))
        put_truth(needs, i, is_tensor(x) and wants_grad(x))
    kind = cls._backward_cls
    if not isinstance(kind, type) or not is_kind_of(<PyObject *>kind, CUSTOM):
        return None
    made = object_of(<PyObject *>kind, EMPTY)
    node = <PyObject *>made
    for place_of in (EDGES, LIKE, SAVED):
        put_slot(node, place_of, <PyObject *>EMPTY)
    put_slot(node, SEQ, <PyObject *>ZERO)
    for place_of in (EXTRA, TO_SAVE, DIRTY, CONSTANT_GIVEN, FOR_FORWARD):
        put_slot(node, place_of, <PyObject *>None)
    put_slot(node, MATERIALIZES, <PyObject *>YES)
    put_slot(node, IN_JVP, <PyObject *>NO)
    put_slot(node, CONSTANT, <PyObject *>EMPTY)
    put_slot(node, TAKES_GRAD, <PyObject *>takes)
    put_slot(node, NEEDS, <PyObject *>needs)
    return made


cdef int set_grad(bint on) except -1:
    """`thread_state.grad = on`: here no handler of a signal runs between the two."""
    if on != <bint>thread_state._grad:
        thread_state._grad = on
        process_state.without_grad += -1 if on else 1
    return 0


def put_grad(state, bint on):
    """Set `ThreadState.grad`, as Python's code does, which a handler may break off before it begins."""
    set_grad(on)


def applied(cls, tuple args):
    """Return what `Function._ag_applied` gives beside the node, outside of all transforms."""
    cdef tuple edges = ()
    cdef list found
    cdef bint record, mode
    node = None if SLOT(<PyObject *>process_state, OBSERVER) != <PyObject *>None else context(cls, args)
    if node is None:
        return cls._ag_applied(args)[1]
    mode = thread_state._grad
    record = mode and YES in <tuple>SLOT(<PyObject *>node, NEEDS) and not thread_state.inference
    if record:
        found = []
        for x in args:
            if is_tensor(<PyObject *>x):
                found.append(edge_to(<PyObject *>x))
        edges = tuple(found)
    number = next_of(sequence_numbers)
    put_slot(<PyObject *>node, EDGES, <PyObject *>edges)
    put_slot(<PyObject *>node, SEQ, <PyObject *>number)
    set_grad(False)
    try:
        if cls.setup_context is Function.setup_context:
            result = cls.forward(node, *args)
        else:
            result = cls.forward(*args)
            cls.setup_context(node, args, result)
    finally:
        set_grad(mode)
    if record and are_plain(<PyObject *>node, args, result):
        finish_plain(node, args, result if PyTuple_CheckExact(<PyObject *>result) else (result,))
        return result
    return finish(node, args, result, record, None)


cdef bint are_plain(PyObject *node, tuple args, object result) except -1:
    """Return whether all outputs are new floating tensors, and nothing was said of them."""
    cdef PyObject *x
    cdef PyObject *saves = SLOT(node, TO_SAVE)
    if SLOT(node, DIRTY) != <PyObject *>None or SLOT(node, CONSTANT_GIVEN) != <PyObject *>None or saves == NULL:
        return False
    if SLOT(<PyObject *>process_state, SPECIAL) != <PyObject *>ZERO or is_on(SLOT(<PyObject *>process_state, ANOMALY)):
        return False
    if SLOT(<PyObject *>process_state, OBSERVER) != <PyObject *>None:
        return False
    if not PyTuple_CheckExact(<PyObject *>result) and not is_tensor(<PyObject *>result):
        return False
    for each in result if PyTuple_CheckExact(<PyObject *>result) else (result,):
        x = <PyObject *>each
        if not is_tensor(x) or SLOT(x, EDGE) != <PyObject *>None or not is_floating(SLOT(x, RAW)):
            return False
        for one in args:
            if one is each:
                return False
    if saves != <PyObject *>None:
        if not PyTuple_CheckExact(saves):
            return False
        for each in <tuple>saves:
            if each is not None and (not is_tensor(<PyObject *>each) or dtype_of(SLOT(<PyObject *>each, RAW)) == NULL):
                return False
    return True


cdef inline bint is_floating(PyObject *raw) noexcept:
    cdef PyObject *kind = dtype_of(raw)
    return kind == <PyObject *>DTYPE32 or kind == <PyObject *>DTYPE64


cdef int finish_plain(object node, tuple args, tuple outputs) except -1:
    """`finish` of such outputs."""
    cdef Py_ssize_t i, many = PyTuple_GET_SIZE(outputs)
    cdef PyObject *n = <PyObject *>node
    likes = [like_of(SLOT(<PyObject *>x, RAW), NULL) for x in outputs]
    numbers = FIRST if many == 1 else frozenset(range(many))
    put_slot(n, LIKE, <PyObject *>likes)
    put_slot(n, DIFFERENTIABLE, <PyObject *>numbers)
    for i in range(many):
        edge = (node, i)
        put_slot(<PyObject *>PyTuple_GET_ITEM(outputs, i), EDGE, <PyObject *>edge)
    save_given(node, args, outputs, <object>SLOT(n, TO_SAVE) or ())
    put_slot(n, TO_SAVE, <PyObject *>None)
    return 0


cdef int save_given(object node, tuple args, tuple outputs, tuple given) except -1:
    """Keep what `save_for_backward` was given, and the versions of it that are not 0."""
    cdef PyObject *counter
    cdef Py_ssize_t i
    cdef list items = [], results = [], positions = []
    for x in given:
        number = position = None
        if x is not None:
            number, position = position_among(x, outputs, False), position_among(x, args, True)
        items.append(x if number is None else saved_result(<PyObject *>x))
        results.append(number)
        positions.append(position if number is None else None)
    kept, result_numbers, edge_numbers = tuple(items), tuple(results), tuple(positions)
    put_slot(<PyObject *>node, SAVED, <PyObject *>kept)
    put_slot(<PyObject *>node, ITEM_RESULTS, <PyObject *>result_numbers)
    put_slot(<PyObject *>node, ITEM_EDGES, <PyObject *>edge_numbers)
    for i in range(len(items)):
        if items[i] is None:
            continue
        counter = counter_in(<PyObject *>items[i]) if results[i] is None else SLOT(<PyObject *>items[i], SAVED_COUNTER)
        if changed(counter):
            expect(node, i, items[i])
    return 0


cdef object position_among(object x, tuple those, bint tensors):
    """Return the first place of `x`, among all or among the tensors alone; None where it is not."""
    cdef Py_ssize_t at = 0
    for one in those:
        if one is x:
            return at
        at += not tensors or is_tensor(<PyObject *>one)
    return None


def saved_tensors(node):
    """`BackwardCFunction.saved_tensors`."""
    cdef PyObject *found
    cdef tuple saved
    cdef Py_ssize_t i
    if not is_kind_of(type_of(<PyObject *>node), CUSTOM):
        raise TypeError(f"'{type(node).__name__}' object is no node of a custom Function")
    found = SLOT(<PyObject *>node, SAVED)
    if SLOT(<PyObject *>node, IN_JVP) != <PyObject *>NO or found == NULL or not PyTuple_CheckExact(found):
        return node._ag_all_unpacked()
    saved = <tuple>found  # held: a hook may free the node
    return tuple([given_back(node, saved, i) for i in range(PyTuple_GET_SIZE(saved))])


cdef object given_back(object node, tuple saved, Py_ssize_t index):
    """`unpack`, whose common case is an input that has the history it had."""
    cdef PyObject *item = <PyObject *>PyTuple_GET_ITEM(saved, index)
    cdef PyObject *edge
    cdef PyObject *positions = SLOT(<PyObject *>node, ITEM_EDGES)
    if item == <PyObject *>None:
        return None
    if positions == NULL or not PyTuple_CheckExact(positions):  # a script may give any name a value
        return unpack(node, index)
    if is_tensor(item) and unchanged(node, index, SLOT(item, COUNTER)):
        edge = edge_in(item)
        position = (<tuple>positions)[index]
        if position is None or edge == <PyObject *>LEAF:
            return <object>item
        if type_of(edge) != <PyObject *>View and <object>edge == edges_in(<PyObject *>node)[position]:
            return <object>item
    return unpack(node, index)


cdef object gradients_of_custom(object node, object f, object grad, bint recorded):
    """Run the `backward` of a custom Function for its node."""
    cdef PyObject *args[GIVEN]
    cdef list given, wrapped
    cdef Py_ssize_t i, many
    plain = grad is not None and PyList_CheckExact(<PyObject *>grad) and len(<list>grad) < GIVEN
    plain = plain and SLOT(<PyObject *>node, MATERIALIZES) != NULL
    if plain and <object>SLOT(<PyObject *>node, MATERIALIZES):
        for g in <list>grad:
            plain = plain and g is not None
    if not plain:
        return node._ag_run_recorded(f, grad) if recorded else node._ag_run_raw(f, grad)
    given = <list>grad
    wrapped = given if recorded else [None if g is None else tensor_of(g) for g in given]
    many = len(wrapped)
    apply = node.apply
    for i in range(many):
        args[i] = PyList_GET_ITEM(<PyObject *>wrapped, i)
    return sent_back(node, PyObject_Vectorcall(<PyObject *>apply, args, many, NULL), recorded)


cdef object sent_back(object node, object result, bint recorded):
    """The gradients of the tensor arguments, out of what `backward` returned."""
    cdef PyObject *known = SLOT(<PyObject *>node, TAKES_GRAD)
    # A script may give any name a value.
    cdef tuple takes = <tuple>known if known != NULL and PyTuple_CheckExact(known) else ()
    cdef tuple given = <tuple>result if PyTuple_CheckExact(<PyObject *>result) else (result,)
    cdef Py_ssize_t i
    cdef PyObject *g
    cdef bint plain = PyTuple_GET_SIZE(takes) == PyTuple_GET_SIZE(given)
    cdef list found = []
    for i in range(PyTuple_GET_SIZE(given) if plain else 0):
        g = <PyObject *>PyTuple_GET_ITEM(given, i)
        if <PyObject *>PyTuple_GET_ITEM(takes, i) != <PyObject *>YES:
            plain = plain and g == <PyObject *>None
        elif g == <PyObject *>None:
            found.append(None)
        elif is_tensor(g) and is_floating(SLOT(g, RAW)):
            found.append(<object>(g if recorded else SLOT(g, RAW)))
        else:
            plain = False
    if plain:
        return tuple(found)
    checked = node._ag_checked(result)
    return checked if recorded else node._ag_raws(checked)
