"""Kinds of Spark functions that matter to maintenance: aggregates, clocks, chance, generators."""

from __future__ import annotations

from sqlglot import exp


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


AGGREGATES = _words(
    """
    any every some std stddev_samp var_samp try_sum try_avg histogram_numeric count_min_sketch
    hll_sketch_agg hll_union_agg theta_sketch_agg theta_union_agg theta_intersection_agg
    kll_sketch_agg_bigint kll_sketch_agg_float kll_sketch_agg_double bitmap_construct_agg
    bitmap_or_agg bitmap_and_agg regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
    regr_sxx regr_sxy regr_syy covar_pop covar_samp percentile percentile_approx approx_percentile
    approx_top_k collect_list collect_set max_by min_by mode listagg string_agg count_if bit_and
    bit_or bit_xor bool_and bool_or schema_of_variant_agg mean kll_merge_agg_bigint
    kll_merge_agg_float kll_merge_agg_double approx_top_k_accumulate approx_top_k_combine
    """
)

NON_DETERMINISTIC = _words(
    """
    rand random randn uuid shuffle monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length uniform randstr reflect java_method try_reflect
    aes_encrypt
    """
)

CLOCKS: dict[str, str] = {
    "current_timestamp": "timestamp",
    "now": "timestamp",
    "current_date": "date",
    "curdate": "date",
    "localtimestamp": "timestamp_ntz",
}

SESSION = _words(
    """
    current_user session_user user current_timezone current_database current_schema current_catalog
    current_time version
    """
)

ORDER_DEPENDENT = _words(
    """
    first first_value last last_value any_value array_agg collect_list array_unique_agg collect_set
    group_concat listagg
    string_agg mode arg_max arg_min max_by min_by approx_quantile approx_percentile
    percentile_approx histogram_numeric
    """
)

TIE_DEPENDENT = _words("row_number ntile lag lead first_value last_value nth_value first last nth")

GENERATORS = _words(
    "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple"
)

_BY_CLASS: dict[type[exp.Expr], str] = {
    exp.Any: "any",
    exp.ArgMax: "arg_max",
    exp.ArgMin: "arg_min",
}


def function_name(expression: exp.Expr) -> str:
    """The name of a function call in lower case; empty for anything else."""
    if isinstance(expression, exp.Anonymous):
        return str(expression.this).lower()
    known = _BY_CLASS.get(type(expression))
    if known is not None:
        return known
    if isinstance(expression, exp.Func):
        name = expression.sql_name().lower().lstrip("_")
        return {"explodeouter": "explode_outer"}.get(name, name)
    return ""
