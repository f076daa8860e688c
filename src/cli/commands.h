/* The subcommands, in the order in which a user meets them: COMMAND(x) is cli_x of its own file. */
/* clang-format off */
COMMAND(data)
COMMAND(train)
COMMAND(evaluate)
COMMAND(curve)
COMMAND(attack)
COMMAND(predict)
COMMAND(inspect)
COMMAND(certify)
COMMAND(verify)
COMMAND(bound)
COMMAND(reproduce)
COMMAND(report)
