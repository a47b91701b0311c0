"""Models for trained.py of exporters whose models no package at hand ships: each is trained on generated data.

They are scikit-learn's models by skl2onnx, LightGBM's by onnxmltools, and quantized networks by ONNX Runtime's tools.
Needs: pip install scikit-learn skl2onnx onnxmltools lightgbm onnxruntime.
"""

import numpy

ROWS, FEATURES = 400, 7


def data():
    """Features, three classes, and numbers to predict."""
    source = numpy.random.default_rng(0)
    x = source.normal(size=(ROWS, FEATURES)).astype(numpy.float32)
    hidden = numpy.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] - 0.5 * x[:, 3]
    classes = numpy.digitize(hidden, [-0.6, 0.6]).astype(numpy.int64)
    return x, classes, (hidden + source.normal(0, 0.05, ROWS)).astype(numpy.float32)


def with_gaps(x):
    x = x.copy()
    x[numpy.random.default_rng(1).random(x.shape) < 0.1] = numpy.nan
    return x


def scikit():
    """(name, fitted model, rows to run)."""
    from sklearn import ensemble, feature_selection, impute, linear_model, naive_bayes, neighbors, neural_network
    from sklearn import pipeline, preprocessing, svm, tree
    x, classes, numbers = data()
    two = (classes > 0).astype(numpy.int64)
    models = {
        "linear_regression": linear_model.LinearRegression().fit(x, numbers),
        "logistic_regression_two": linear_model.LogisticRegression().fit(x, two),
        "logistic_regression_three": linear_model.LogisticRegression().fit(x, classes),
        "decision_tree": tree.DecisionTreeClassifier(random_state=0).fit(x, classes),
        "random_forest_two": ensemble.RandomForestClassifier(20, random_state=0).fit(x, two),
        "random_forest_three": ensemble.RandomForestClassifier(20, random_state=0).fit(x, classes),
        "random_forest_regression": ensemble.RandomForestRegressor(20, random_state=0).fit(x, numbers),
        "extra_trees": ensemble.ExtraTreesClassifier(20, random_state=0).fit(x, classes),
        "gradient_boosting_two": ensemble.GradientBoostingClassifier(random_state=0).fit(x, two),
        "gradient_boosting_three": ensemble.GradientBoostingClassifier(random_state=0).fit(x, classes),
        "gradient_boosting_regression": ensemble.GradientBoostingRegressor(random_state=0).fit(x, numbers),
        "isolation_forest": ensemble.IsolationForest(random_state=0).fit(x),
        "svr_rbf": svm.SVR().fit(x, numbers),
        "svr_poly": svm.SVR(kernel="poly", degree=3, coef0=1.0).fit(x, numbers),
        "svr_linear": svm.SVR(kernel="linear").fit(x, numbers),
        "one_class_svm": svm.OneClassSVM().fit(x),
        "neighbors": neighbors.KNeighborsClassifier().fit(x, classes),
        "naive_bayes": naive_bayes.GaussianNB().fit(x, classes),
        "perceptron": neural_network.MLPClassifier(hidden_layer_sizes=(16, 8), max_iter=200, random_state=0).fit(x, classes),
        "scaled_pipeline": pipeline.make_pipeline(
            impute.SimpleImputer(), preprocessing.StandardScaler(), preprocessing.Normalizer(),
            feature_selection.SelectKBest(k=5), linear_model.LogisticRegression()).fit(with_gaps(x), classes),
    }
    for name, model in models.items():
        yield name, model, with_gaps(x) if name == "scaled_pipeline" else x


def save(folder, name, model, sets):
    """Writes a model and its inputs, of which each data set is a dictionary."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "model.onnx").write_bytes(model.SerializeToString())
    for index, feed in enumerate(sets):
        numpy.savez(place / f"inputs_{index}.npz", **feed)
    print(place)


def make_scikit(folder):
    from skl2onnx import to_onnx
    from sklearn.base import is_classifier
    for name, model, x in scikit():
        options = {"zipmap": False} if is_classifier(model) else None
        made = to_onnx(model, x[:1], options=options, target_opset={"": 18, "ai.onnx.ml": 3})
        save(folder, f"skl2onnx.{name}", made, [{made.graph.input[0].name: x[:rows]} for rows in (50, 1)])


def make_lightgbm(folder):
    import lightgbm
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType
    x, classes, numbers = data()
    models = {"classifier": lightgbm.LGBMClassifier(n_estimators=20, verbose=-1).fit(x, classes),
              "regressor": lightgbm.LGBMRegressor(n_estimators=20, verbose=-1).fit(with_gaps(x), numbers)}
    for name, model in models.items():
        settings = {"zipmap": False} if name == "classifier" else {}
        made = convert_lightgbm(model, initial_types=[("x", FloatTensorType([None, FEATURES]))], target_opset=15, **settings)
        rows = with_gaps(x) if name == "regressor" else x
        save(folder, f"lightgbm.{name}", made, [{"x": rows[:count]} for count in (50, 1)])


def make_quantized(folder):
    """A perceptron and its forms by the quantizers."""
    import onnx
    from onnxruntime import quantization
    from skl2onnx import to_onnx
    from sklearn import neural_network
    x, _, numbers = data()
    model = neural_network.MLPRegressor(hidden_layer_sizes=(32, 16), max_iter=200, random_state=0).fit(x, numbers)
    plain = folder / "perceptron.onnx"
    plain.write_bytes(to_onnx(model, x[:1], target_opset=18).SerializeToString())
    name = onnx.load(plain).graph.input[0].name

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.batches = iter([{name: x[i:i + 50]} for i in range(0, ROWS, 50)])

        def get_next(self):
            return next(self.batches, None)

    sets = [{name: x[:rows]} for rows in (50, 1)]
    out = folder / "quantized.onnx"
    quantization.quantize_dynamic(plain, out)
    save(folder, "onnxruntime.dynamic", onnx.load(out), sets)
    for form in quantization.QuantFormat:
        quantization.quantize_static(plain, out, Reader(), quant_format=form)
        save(folder, f"onnxruntime.{form.name.lower()}", onnx.load(out), sets)
    plain.unlink()
    out.unlink()


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    make_scikit(folder)
    make_lightgbm(folder)
    make_quantized(folder)
    return 0
