# How the gradients of an operation are computed: a part of fast_tape.pyx.

cdef enum Need:
    GRAD, ONLY_GRAD, SAVED_TENSOR, SAVED_VALUE, WANTED


@cython.internal
cdef class Formula:
    """A formula of an operation: the numbers of the inputs whose gradients it gives, and where its arguments come from."""

    cdef object function
    cdef tuple targets
    cdef bint joint
    cdef int count
    cdef int kinds[MOST]
    cdef int numbers[MOST]

    def __init__(self, derivative, targets, needs):
        self.function, self.joint, self.targets = derivative.formula, derivative.joint, tuple(targets)
        self.count = len(needs)
        for i, (kind, number) in enumerate(needs):
            self.kinds[i], self.numbers[i] = kind, number

    cdef object run(self, Facts facts, object node, object f, object grad, object saved, tuple edges, bint recorded):
        """What the formula gives for a node, on tensors if it is `recorded`."""
        cdef int i
        cdef PyObject *args[MOST + 1]
        cdef list held = []
        args[0] = <PyObject *>f
        for i in range(self.count):
            if self.kinds[i] == GRAD:
                args[i + 1] = <PyObject *>grad
                continue
            if self.kinds[i] == SAVED_TENSOR:
                item = unpacked(facts, node, saved, self.numbers[i]) if recorded else opened(node, saved, self.numbers[i])
            elif self.kinds[i] == SAVED_VALUE:
                item = saved[self.numbers[i]]
            elif self.kinds[i] == ONLY_GRAD:
                item = grad[0]
            else:
                item = tuple([edges[j] is not None for j in self.targets])
            held.append(item)
            args[i + 1] = <PyObject *>item
        return PyObject_Vectorcall(<PyObject *>self.function, args, self.count + 1, NULL)


cdef bint unchanged(object node, Py_ssize_t index, PyObject *counter) except -1:
    """Whether a saved tensor has the version that it was saved at."""
    cdef PyObject *extra
    if counter == <PyObject *>None:
        return True
    extra = SLOT(<PyObject *>node, EXTRA)
    if extra == <PyObject *>None:
        return PyList_GET_ITEM(counter, 0) == <PyObject *>ZERO
    if type_of(extra) != <PyObject *>Versions:
        return False
    return (<object>extra).versions.get(index, ZERO) == <object>PyList_GET_ITEM(counter, 0)


cdef object opened(object node, object saved, Py_ssize_t index):
    """The array of a saved tensor, whose version is checked."""
    cdef PyObject *item = <PyObject *>PyTuple_GET_ITEM(<tuple>saved, index)
    cdef PyObject *raw
    cdef PyObject *counter
    if item == <PyObject *>None:
        return None
    if type_of(item) == <PyObject *>SavedResult:
        raw, counter = SLOT(item, SAVED_RAW), SLOT(item, SAVED_COUNTER)
    elif is_tensor(item):
        raw, counter = SLOT(item, RAW), SLOT(item, COUNTER)
    else:
        return (<object>item)._raw if (<object>item)._counter is None else opened_raw(node, index)
    if counter == <PyObject *>None or dtype_of(raw) != NULL and unchanged(node, index, counter):
        return <object>raw
    return opened_raw(node, index)


cdef object unpacked(Facts facts, object node, object saved, Py_ssize_t index):
    """`unpack`, whose common cases are a result and a tensor that has the history it had."""
    cdef PyObject *item = <PyObject *>PyTuple_GET_ITEM(<tuple>saved, index)
    cdef PyObject *edge
    cdef PyObject *then
    if type_of(item) == <PyObject *>SavedResult:
        if unchanged(node, index, SLOT(item, SAVED_COUNTER)):
            made = tensor_of(<object>SLOT(item, SAVED_RAW))
            put_slot(<PyObject *>made, COUNTER, SLOT(item, SAVED_COUNTER))
            number = facts.results[index]
            if number in facts.differentiable:
                own = (node, number)
                put_slot(<PyObject *>made, EDGE, <PyObject *>own)
            return made
    elif is_tensor(item) and unchanged(node, index, SLOT(item, COUNTER)):
        edge = SLOT(item, EDGE)
        if facts.edges[index] is None or edge == <PyObject *>LEAF:
            return <object>item
        then = <PyObject *>PyTuple_GET_ITEM(<tuple>SLOT(<PyObject *>node, EDGES), facts.edges[index])
        if edge == then or PyTuple_CheckExact(edge) and PyTuple_CheckExact(then) and <object>edge == <object>then:
            return <object>item
    return unpack(node, index)


@cython.internal
cdef class Facts:
    """What `walk` asks of the class of an operation's nodes; without `formulas`, Python's code computes gradients."""

    cdef object frees
    cdef bint takes_none, saves
    cdef Py_ssize_t inputs
    cdef tuple formulas, in_recorded_order
    cdef tuple edges, results
    """For each saved thing, the number of the input or of the result that it is."""
    cdef object differentiable

    def __init__(self, cls):
        op = cls._operation
        self.frees, self.takes_none, self.differentiable = cls._frees, cls._takes_none, cls._differentiable
        self.edges, self.results = cls._item_edges, cls._item_results
        self.inputs, self.saves = len(op.inputs), bool(op.saved_names)
        self.formulas = formulas_of(op, op.derivatives)
        self.in_recorded_order = formulas_of(op, recorded_order(op))

    cdef object gradients(self, object node, object f, object grad, tuple edges, bint recorded):
        """The gradients of the inputs, as `Node._run_raw` or `Node._run_recorded` gives them."""
        cdef Formula formula
        cdef Py_ssize_t i
        cdef bint wanted
        cdef object saved = <object>SLOT(<PyObject *>node, SAVED)
        if not self.formulas or (saved is not None and type(saved) is not tuple):
            compute = node._run_recorded if recorded else node._run_raw
            own = <PyObject *>edges == SLOT(<PyObject *>node, EDGES)
            return compute(f, grad) if own else compute(f, grad, edges)
        if self.saves and saved is None:
            raise freed()
        grads = [None] * self.inputs
        for formula in self.in_recorded_order if recorded else self.formulas:
            wanted = False
            for i in formula.targets:
                wanted = wanted or <PyObject *>PyTuple_GET_ITEM(edges, i) != <PyObject *>None
            if not wanted:
                continue
            found = formula.run(self, node, f, grad, saved, edges, recorded)
            if formula.joint:
                for i, one in zip(formula.targets, found, strict=True):
                    grads[i] = one
            else:
                grads[formula.targets[0]] = found
        return tuple(grads)


cdef tuple formulas_of(op, derivatives):
    """The formulas of an operation; none where they are given lists."""
    if op.flattens or op.takes_lists or not op.has_derivative:
        return ()
    positions = {p.name: i for i, p in enumerate(op.inputs)}
    made = []
    for derivative in derivatives:
        needs = []
        for name in derivative.needs:
            if name == "mask" and "mask" not in op.saved_names:
                needs.append((WANTED, 0))
            elif name in ("grad", "grads"):
                needs.append((ONLY_GRAD if op.multiple and name == "grad" else GRAD, 0))
            else:
                needs.append((SAVED_TENSOR if op.is_tensor(name) else SAVED_VALUE, op.saved_names.index(name)))
        if len(needs) > MOST:
            return ()
        made.append(Formula(derivative, [positions[name] for name in derivative.inputs], needs))
    return tuple(made)


cdef dict known_facts = {}


cdef Facts facts_of(PyObject *node):
    """The facts of an operation's node; None of any other."""
    cdef PyObject *cls = type_of(node)
    found = known_facts.get(<object>cls)
    if found is None and (<object>cls)._operation is not None:
        found = known_facts[<object>cls] = Facts(<object>cls)
    return found
