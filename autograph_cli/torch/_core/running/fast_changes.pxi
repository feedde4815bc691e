# Changes in place of plain tensors, and the history that they make: a part of fast_tape.pyx.

def change(op, tuple args):
    """`run_inplace` of plain arguments; None where Python's code must look at them."""
    facts = plain_facts(op)
    return None if facts is None else facts.change(items_of(args), PyTuple_GET_SIZE(args))


cdef object written(Forward self, Operands *x):
    """`_run_plain` of inplace.py."""
    cdef PyObject *target = x.given[0]
    cdef tuple edges = None
    before = number = None
    args = self.arguments(x)
    if self.inputs and (self.followed(x) or edge_in(target) != <PyObject *>None):
        check_allowed(target, args)
        number = next_of(sequence_numbers)
        if SLOT(<PyObject *>process_state, WITHOUT_GRAD) == <PyObject *>ZERO or thread_state.grad:
            edges = self.edges(x)
    if edges is not None and CATEGORY[(<object>x.raws[0]).dtype] < FLOATING:
        edges = None
    check_apart(self, x)
    result = self.computed(x)
    if not is_like(result, x.raws[0]):
        result = result_for(<object>target, result)
    if edges is not None and self.saves_self and (self.self_guard < 0 or edges[self.self_guard] is not None):
        before = operations.clone(<object>target)
    put(target, result)
    if edges is None:
        if SLOT(<PyObject *>process_state, OBSERVER) != <PyObject *>None:
            tell_change(self.op, args, <object>target)
        return <object>target
    if before is not None:
        Py_XDECREF(x.given[0])
        Py_XDECREF(x.raws[0])
        x.given[0], x.raws[0] = <PyObject *>before, SLOT(<PyObject *>before, RAW)
        Py_XINCREF(x.given[0])
        Py_XINCREF(x.raws[0])
    follow(self, <object>target, before, number, edges, args, x)
    return <object>target


cdef int check_apart(Forward self, Operands *x) except -1:
    """`check_apart` of inplace.py."""
    cdef int i
    cdef PyObject *given
    for i in range(self.tensors if self.checks_memory else 0):
        given = x.given[self.at[i]]
        if self.at[i] and not self.lists[i] and given != <PyObject *>None:
            if given == x.given[0] or SLOT(given, COUNTER) != <PyObject *>None:
                check_memory(x.raws[0], x.raws[self.at[i]], self.apart)
    return 0


cdef int follow(Forward self, object target, object before, object number, tuple edges, tuple args, Operands *x) except -1:
    """Make the node of a change, and the history of what was changed; `before`: a copy of it from before."""
    cdef PyObject *counter = SLOT(<PyObject *>target, COUNTER)
    out = tensor_of(<object>SLOT(<PyObject *>target, RAW))
    put_slot(<PyObject *>out, COUNTER, counter)
    node = self.node_of(number, edges, (out,), x)
    date_back(self, node, counter, <PyObject *>before)
    if SLOT(<PyObject *>process_state, OBSERVER) != <PyObject *>None:
        process_state.observer.created(node, args, (target,))
    return rebased(<PyObject *>target, node, self.saves_result)


cdef int date_back(Forward self, object node, PyObject *counter, PyObject *before) except -1:
    """`date_back` of inplace.py."""
    cdef int i
    cdef PyObject *given
    cdef list items = None
    saved = <object>SLOT(<PyObject *>node, SAVED)
    for i in range(self.saved):
        given = <PyObject *>PyTuple_GET_ITEM(<tuple>saved, i)
        if self.kinds[i] != OF_TENSOR or given == <PyObject *>None:
            continue
        if given == before:
            items = list(<tuple>saved) if items is None else items
            items[i] = Packed(<object>given, itself, edge_to(given), False)
        elif SLOT(given, COUNTER) == counter:
            extra_of(node).versions[i] -= 1
    if items is not None:
        saved = tuple(items)
        put_slot(<PyObject *>node, SAVED, <PyObject *>saved)
    return 0


cdef bint may_change(PyObject *target):
    """Return whether a tensor is a real number, or an array of such with one position in memory for each element."""
    cdef PyObject *raw = SLOT(target, RAW)
    cdef cnp.npy_intp reach
    cdef int d
    if SLOT(target, COUNTER) == <PyObject *>INFERENCE:
        return False
    if type_of(raw) != ndarray:
        return not cnp.PyTypeNum_ISCOMPLEX((<cnp.dtype>dtype_of(raw)).type_num)
    if cnp.PyArray_ISCOMPLEX(<cnp.ndarray>raw):
        return False
    if cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>raw):
        return True
    reach = cnp.PyArray_ITEMSIZE(<cnp.ndarray>raw)
    for d in range(cnp.PyArray_NDIM(<cnp.ndarray>raw) - 1, -1, -1):
        if cnp.PyArray_DIM(<cnp.ndarray>raw, d) != 1:
            if cnp.PyArray_STRIDE(<cnp.ndarray>raw, d) < reach:
                return False
            reach = cnp.PyArray_STRIDE(<cnp.ndarray>raw, d) * cnp.PyArray_DIM(<cnp.ndarray>raw, d)
    return True


cdef int check_allowed(PyObject *target, tuple args) except -1:
    """`check_inplace`, which has nothing to say of a result and of a view of one."""
    cdef PyObject *edge = edge_in(target)
    if edge == <PyObject *>None or PyTuple_CheckExact(edge):
        return 0
    if edge != <PyObject *>LEAF and PyTuple_CheckExact(SLOT(edge, VIEW_EDGE)):
        if PyTuple_CheckExact(edge_in(SLOT(edge, VIEW_BASE))) and not <object>SLOT(edge, VIEW_CREATION):
            return 0
    check_inplace(*args)
    return 0


cdef int check_memory(PyObject *written, PyObject *read, bint apart) except -1:
    """`check_overlap`, which has nothing to say of arrays that lie apart."""
    cdef char *begin
    cdef char *start
    if written != read and type_of(written) == ndarray and type_of(read) == ndarray:
        begin, start = <char *>cnp.PyArray_DATA(<cnp.ndarray>written), <char *>cnp.PyArray_DATA(<cnp.ndarray>read)
        if begin >= start + cnp.PyArray_NBYTES(<cnp.ndarray>read) or start >= begin + cnp.PyArray_NBYTES(<cnp.ndarray>written):
            return 0
    check_overlap(<object>written, <object>read, apart)
    return 0


cdef int put(PyObject *target, object result) except -1:
    """Write a result, of which shape and dtype are right, into a tensor, and count the change."""
    cdef PyObject *raw = SLOT(target, RAW)
    if type_of(raw) == ndarray:
        if type_of(<PyObject *>result) == ndarray:
            cnp.PyArray_CopyInto(<cnp.ndarray>raw, <cnp.ndarray>result)
        else:
            (<object>raw)[...] = result
    elif type_of(raw) == type_of(<PyObject *>result):
        put_slot(target, RAW, <PyObject *>result)
    else:
        write(<object>target, result)
        return 0
    count_change(target)
    return 0


cdef bint is_like(object result, PyObject *raw):
    """Return whether a result has the shape and the dtype of what it is to be written into."""
    cdef int d
    if type_of(<PyObject *>result) != type_of(raw) or type_of(raw) != ndarray:
        return type_of(<PyObject *>result) == type_of(raw)
    if cnp.PyArray_DESCR(<cnp.ndarray>result) != cnp.PyArray_DESCR(<cnp.ndarray>raw):
        return False
    if cnp.PyArray_NDIM(<cnp.ndarray>result) != cnp.PyArray_NDIM(<cnp.ndarray>raw):
        return False
    for d in range(cnp.PyArray_NDIM(<cnp.ndarray>raw)):
        if cnp.PyArray_DIM(<cnp.ndarray>result, d) != cnp.PyArray_DIM(<cnp.ndarray>raw, d):
            return False
    return True

# ---------------------------------------------------------------- histories


cdef int rebased(PyObject *target, object node, bint saves_result) except -1:
    """`rebase`, whose common cases are a tensor that is no view and one window onto an array."""
    cdef PyObject *seen = edge_in(target)
    cdef PyObject *base
    cdef PyObject *raw
    cdef PyObject *position
    if type_of(seen) != <PyObject *>View:
        before, edge = <object>seen, (node, ZERO)
        put_slot(target, EDGE, <PyObject *>edge)
        if meta_in(target) != <PyObject *>None:
            move_retained(<object>target, before)
        return 0
    base, raw = SLOT(seen, VIEW_BASE), SLOT(target, RAW)
    if saves_result or type_of(raw) != ndarray or type_of(SLOT(base, RAW)) != ndarray:
        rebase(<object>target, node)
        return 0
    before = edge_to(base)
    position = SLOT(seen, VIEW_POSITION)
    if not is_position(position, raw, SLOT(base, RAW)):
        position_in(<object>seen, <object>raw, <object>SLOT(base, RAW))
        position = SLOT(seen, VIEW_POSITION)
        if not is_position(position, raw, SLOT(base, RAW)):
            spoiled(seen, "position")
    window = <object>PyTuple_GET_ITEM(<tuple>position, 2)
    copy = copy_slices(node, base, before, seen, window, <object>raw)
    edge = (copy, ZERO)
    put_slot(base, EDGE, <PyObject *>edge)
    if meta_in(base) != <PyObject *>None:
        move_retained(<object>base, before)
    if SLOT(<PyObject *>process_state, OBSERVER) != <PyObject *>None:
        process_state.observer.created(copy, (<object>base,), (<object>base,))
    put_slot(seen, VIEW_VERSION, <PyObject *>NEVER)
    looked_up(target, seen, window)
    return 0


cdef inline bint is_position(PyObject *position, PyObject *raw, PyObject *base) noexcept:
    """Return whether this tells where the array of a view is in that of its base."""
    if type_of(position) != <PyObject *>tuple or PyTuple_GET_SIZE(<tuple>position) != 3:
        return False
    return PyTuple_GET_ITEM(<tuple>position, 0) == raw and PyTuple_GET_ITEM(<tuple>position, 1) == base


cdef object copy_slices(object function, PyObject *base, object before, PyObject *view, object window, object raw):
    """`CopySlices(function, base, changed)` of arrays; `before`: the edge of the base until then."""
    node = new_of(<PyObject *>CopySlices)
    whole = (<object>SLOT(base, RAW)).shape, strides_of(<object>SLOT(base, RAW))
    edges = (before, *(<tuple>SLOT(<PyObject *>function, EDGES))[1:])
    saved, dtype = (function,), raw.dtype
    like = like_of(SLOT(base, RAW), <PyObject *>before)
    number = next_of(sequence_numbers)
    put_slot(<PyObject *>node, SLICES_BASE, <PyObject *>whole)
    put_slot(<PyObject *>node, SLICES_VIEW, <PyObject *>window)
    put_slot(<PyObject *>node, SLICES_DTYPE, <PyObject *>dtype)
    put_slot(<PyObject *>node, SLICES_PATH, SLOT(view, VIEW_PATH))
    put_slot(<PyObject *>node, SLICES_BITS, <PyObject *>NO_BITS)
    put_slot(<PyObject *>node, EDGES, <PyObject *>edges)
    put_slot(<PyObject *>node, SAVED, <PyObject *>saved)
    put_slot(<PyObject *>node, LIKE, <PyObject *>like)
    put_slot(<PyObject *>node, SEQ, <PyObject *>number)
    put_slot(<PyObject *>node, EXTRA, <PyObject *>None)
    return node


cdef object looked_up(PyObject *tensor, PyObject *view, object window):
    """`view_edge` of a view whose memory changed, where one window onto that of its base tells where it is."""
    cdef PyObject *base = SLOT(view, VIEW_BASE)
    base_edge = edge_to(base)
    if base_edge is None or SLOT(view, VIEW_PATH) != <PyObject *>None or <object>SLOT(view, VIEW_CREATION):
        return view_edge(<object>tensor, window)
    before = <object>SLOT(view, VIEW_EDGE)
    node = new_of(<PyObject *>table["as_strided"].node)
    whole = <object>SLOT(base, RAW)
    saved = (*window, whole.shape, strides_of(whole))
    edges = (base_edge,)
    like = like_of(SLOT(tensor, RAW), NULL)
    number = next_of(sequence_numbers)
    process_state.disordered = max(process_state.disordered, number)
    put_slot(<PyObject *>node, EDGES, <PyObject *>edges)
    put_slot(<PyObject *>node, SAVED, <PyObject *>saved)
    put_slot(<PyObject *>node, LIKE, <PyObject *>like)
    put_slot(<PyObject *>node, SEQ, <PyObject *>number)
    put_slot(<PyObject *>node, EXTRA, <PyObject *>None)
    edge = (node, ZERO)
    put_slot(view, VIEW_EDGE, <PyObject *>edge)
    put_slot(view, VIEW_VERSION, version_in(tensor))
    if SLOT(<PyObject *>process_state, OBSERVER) != <PyObject *>None:
        process_state.observer.created(node, (<object>base,), (<object>tensor,))
    if meta_in(tensor) != <PyObject *>None:
        move_retained(<object>tensor, before if type(before) is tuple else None)
    return edge
