"""Operators of ai.onnx.ml, which converters of scikit-learn and the like write. Labels are integers."""

import numpy as np
from onnx import numpy_helper

from case import make as make_standard

POSTS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def make(r, op, inputs, attributes, version=3, **more):
    case = make_standard(r, op, inputs, attributes, domain="ai.onnx.ml", opset=18, **more)
    case.model.opset_import[1].version = version
    return case


def rows(r, features, dtype=np.float32, gaps=False):
    """Rounded, so that some numbers equal splits."""
    x = np.round(r.array([r.int(1, 6), features], dtype), 1)
    if gaps:
        x[r.rng.random(x.shape) < 0.15] = np.nan
    return x


def trees(r, part, targets, ids):
    """Attributes of random trees. Each leaf has a weight of each target of `ids`."""
    made = {f"nodes_{name}": [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids",
                                             "falsenodeids", "missing_value_tracks_true")}
    made.update({f"{part}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")})
    modes = [r.pick(MODES) for _ in range(r.pick((1, 1, 2, 4)))]
    negative = r.chance(0.5)
    features = r.int(1, 4)
    for tree in range(r.int(1, 4)):
        free = 1
        todo = [(0, r.int(0, 4))]
        while todo:
            node, depth = todo.pop(0)
            leaf = depth == 0 or (node and r.chance(0.2))
            made["nodes_treeids"].append(tree)
            made["nodes_nodeids"].append(node)
            made["nodes_featureids"].append(r.int(0, features - 1))
            made["nodes_values"].append(float(np.round(r.rng.random() * 4 - 2, 1)))
            made["nodes_modes"].append("LEAF" if leaf else r.pick(modes))
            made["nodes_truenodeids"].append(0 if leaf else free)
            made["nodes_falsenodeids"].append(0 if leaf else free + 1)
            made["nodes_missing_value_tracks_true"].append(r.int(0, 1))
            if not leaf:
                todo += [(free, depth - 1), (free + 1, depth - 1)]
                free += 2
                continue
            for target in ids:
                made[f"{part}_treeids"].append(tree)
                made[f"{part}_nodeids"].append(node)
                made[f"{part}_ids"].append(target)
                made[f"{part}_weights"].append(float(r.rng.normal() if negative else r.rng.random() / 4))
    return made, features


def tree_regressor(r):
    targets = r.int(1, 3)
    attributes, features = trees(r, "target", targets, range(targets))
    attributes.update(n_targets=targets, aggregate_function=r.pick(("SUM", "SUM", "AVERAGE", "MIN", "MAX")))
    if r.chance(0.4):
        attributes["base_values"] = [float(v) for v in r.array([targets])]
    if r.chance(0.3) and targets > 1:  # of one target, ONNX Runtime gives some transforms no meaning
        attributes["post_transform"] = r.pick(POSTS[:4])
    dtype = r.pick((np.float32, np.float32, np.float64))
    return make(r, "TreeEnsembleRegressor", [rows(r, features, dtype, gaps=True)], attributes)


def tree_classifier(r):
    """Two labels have weights of one class alone: with both, ONNX Runtime's labels are not those of the model."""
    labels = r.int(2, 4)
    ids = [r.int(0, 1)] if labels == 2 else list(range(labels))
    attributes, features = trees(r, "class", labels, ids)
    attributes["classlabels_int64s"] = [int(v) for v in r.rng.permutation(20)[:labels]]
    attributes["post_transform"] = r.pick(POSTS if labels > 2 else POSTS[:4])
    if labels > 2 and r.chance(0.3):
        attributes["base_values"] = [float(v) for v in r.array([labels])]
    if ids == [0] and r.chance(0.3):
        attributes["base_values"] = [float(v) for v in r.array([1])]
    return make(r, "TreeEnsembleClassifier", [rows(r, features, gaps=True)], attributes, outputs=2)


def tree_ensemble(r):
    """One tree of branches 0 to n - 1, each of which leads to later branches or to leaves."""
    count, targets, leaves = r.int(1, 8), r.int(1, 3), r.int(1, 5)
    kinds = [r.int(0, 6) if r.chance(0.5) else 0 for _ in range(count)]
    members = []
    for kind in kinds:
        if kind == 6:
            members += [*(float(v) for v in np.round(r.array([r.int(1, 3)]), 1)), float("nan")]

    def sides():
        ids, is_leaf = [], []
        for branch in range(count):
            leaf = branch + 1 == count or r.chance(0.5)
            ids.append(r.int(0, leaves - 1) if leaf else r.int(branch + 1, count - 1))
            is_leaf.append(int(leaf))
        return ids, is_leaf

    yes, yes_leaf = sides()
    no, no_leaf = sides()
    tensor = lambda values, dtype=np.float32: numpy_helper.from_array(np.array(values, dtype))
    attributes = {
        "nodes_modes": tensor(kinds, np.uint8),
        "nodes_splits": tensor(np.round(r.array([count]), 1)),
        "nodes_featureids": [r.int(0, 2) for _ in range(count)],
        "nodes_truenodeids": yes, "nodes_trueleafs": yes_leaf,
        "nodes_falsenodeids": no, "nodes_falseleafs": no_leaf,
        "leaf_targetids": [r.int(0, targets - 1) for _ in range(leaves)],
        "leaf_weights": tensor(r.array([leaves])),
        "tree_roots": [0], "n_targets": targets,
    }
    if members:
        attributes["membership_values"] = tensor(members)
    return make(r, "TreeEnsemble", [rows(r, 3)], attributes, version=5)


def linear_regressor(r):
    targets, features = r.int(1, 3), r.int(1, 4)
    attributes = {"targets": targets, "coefficients": [float(v) for v in r.array([targets * features])],
                  "intercepts": [float(v) for v in r.array([targets])]}
    return make(r, "LinearRegressor", [rows(r, features)], attributes)


def linear_classifier(r):
    labels, features = r.int(2, 4), r.int(1, 4)
    scores = r.pick((1, 2)) if labels == 2 else labels
    attributes = {"coefficients": [float(v) for v in r.array([scores * features])],
                  "intercepts": [float(v) for v in r.array([scores])],
                  "classlabels_ints": [int(v) for v in r.rng.permutation(20)[:labels]],
                  "post_transform": r.pick(POSTS[:4] if scores == 1 else POSTS)}
    return make(r, "LinearClassifier", [rows(r, features)], attributes, outputs=2)


def svm_regressor(r):
    count, features = r.int(1, 5), r.int(1, 4)
    attributes = {"n_supports": count, "support_vectors": [float(v) for v in r.array([count * features])],
                  "coefficients": [float(v) for v in r.array([count])], "rho": [float(r.array([1])[0])],
                  "kernel_params": [0.4, 0.5, float(r.int(1, 3))],
                  "kernel_type": r.pick(("LINEAR", "POLY", "RBF", "SIGMOID")), "one_class": r.int(0, 1)}
    return make(r, "SVMRegressor", [rows(r, features)], attributes)


def scaler(r):
    features = r.int(1, 4)
    size = lambda: [float(v) for v in r.array([r.pick((1, features))])]
    offset = size()
    scale = [float(v) for v in r.array([len(offset)])]  # ONNX Runtime wants as many
    dtype = r.pick((np.float32, np.int64, np.int32, np.float64))
    return make(r, "Scaler", [r.array([r.int(1, 4), features], dtype)], {"offset": offset, "scale": scale})


def normalizer(r):
    x = rows(r, r.int(1, 4))
    x[0] *= r.int(0, 1)
    return make(r, "Normalizer", [x], {"norm": r.pick(("MAX", "L1", "L2"))})


def binarizer(r):
    return make(r, "Binarizer", [rows(r, r.int(1, 4))], {"threshold": float(np.round(r.array([1])[0], 1))})


def imputer(r):
    features = r.int(1, 4)
    values = r.array([r.pick((1, features))])
    if r.chance(0.4):
        x = r.array([r.int(1, 4), features], np.int64, 0, 3)
        return make(r, "Imputer", [x], {"imputed_value_int64s": [int(9 * v) for v in values], "replaced_value_int64": 1})
    attributes = {"imputed_value_floats": [float(v) for v in values], "replaced_value_float": float("nan")}
    return make(r, "Imputer", [rows(r, features, gaps=True)], attributes)


def array_feature_extractor(r):
    features = r.int(1, 5)
    x = r.array([*([r.int(1, 3)] if r.chance(0.7) else []), features])
    index = r.array([r.int(1, 4)], np.int64, 0, features)
    return make(r, "ArrayFeatureExtractor", [x, index[None] if r.chance(0.5) else index], {})


def one_hot_encoder(r):
    cats = [int(v) for v in r.rng.permutation(6)[: r.int(1, 5)]]
    x = r.array(r.shape(1, 2, zero=0), r.pick((np.int64, np.float32)), 0, 6)
    return make(r, "OneHotEncoder", [x], {"cats_int64s": cats, "zeros": 1})


def label_encoder(r):
    count = r.int(1, 5)
    keys = [int(v) for v in r.rng.permutation(8)[:count]]
    x = r.array(r.shape(1, 2, zero=0), np.int64, 0, 8)
    attributes = {"keys_int64s": keys}
    if r.chance(0.5):
        attributes.update(values_floats=[float(v) for v in r.array([count])], default_float=0.5)
    else:
        attributes.update(values_int64s=[int(v) for v in r.array([count], np.int64)], default_int64=7)
    if r.chance(0.3):
        del attributes["keys_int64s"]
        attributes["keys_floats"] = [float(v) for v in keys]
        x = x.astype(np.float32)
    return make(r, "LabelEncoder", [x], attributes, version=r.pick((2, 4)))


def feature_vectorizer(r):
    n = r.int(1, 3)
    sizes = [r.int(1, 3) for _ in range(r.int(1, 3))]
    inputs = [r.array([n, size]) for size in sizes]
    return make(r, "FeatureVectorizer", inputs, {"inputdimensions": sizes}, symbols=False)


GENERATORS = {
    "MlArrayFeatureExtractor": array_feature_extractor,
    "MlBinarizer": binarizer,
    "MlFeatureVectorizer": feature_vectorizer,
    "MlImputer": imputer,
    "MlLabelEncoder": label_encoder,
    "MlLinearClassifier": linear_classifier,
    "MlLinearRegressor": linear_regressor,
    "MlNormalizer": normalizer,
    "MlOneHotEncoder": one_hot_encoder,
    "MlSVMRegressor": svm_regressor,
    "MlScaler": scaler,
    "MlTreeEnsemble": tree_ensemble,
    "MlTreeEnsembleClassifier": tree_classifier,
    "MlTreeEnsembleRegressor": tree_regressor,
}
