/* What a command says about itself, from its option table: help for people, man pages, completion for bash.
 */
#include <ctype.h>
#include <string.h>

#include "cli/cli.h"

/* ---- for people ---- */

/* "--scale none|standard|minmax" */
static const char *heading(const cli_option *o, char buffer[64]) {
    snprintf(buffer, 64, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
    return buffer;
}

/* What the option does, and its default. */
static const char *words_of(const cli_option *o, char help[640]) {
    char buffer[128];
    const char *shown = o->show ? o->show(o->target, buffer, sizeof buffer) : NULL;
    snprintf(help, 640, shown && shown[0] ? "%s [%s]" : "%s", o->help, shown);
    return help;
}

static const char *text_of(const cli_command *command) {
    return command->text ? command->text : command->summary;
}

static void print_help(const cli *c) {
    cli_print("surety %s %s\n\n", c->command->name, c->command->usage);
    cli_print_wrapped(text_of(c->command), 0, 0);
    cli_print("\nOptions:\n");
    for (size_t i = 0; i < c->count; i++) {
        char left[64], help[640];
        int used = 3 + (int)strlen(heading(&c->options[i], left));
        cli_print(used > 26 ? "  %s\n" : "  %s ", left);
        cli_print_wrapped(words_of(&c->options[i], help), 26, used > 26 ? 0 : used);
    }
    cli_print("\nExample:\n");
    cli_print_wrapped(c->command->example, 2, 0);
}

/* ---- man pages ---- */

/* A text between macros: what troff would read is escaped. */
static void roff(const char *text) {
    for (const char *p = text; *p; p++) {
        if ((p == text || p[-1] == '\n') && (*p == '.' || *p == '\'')) cli_print("\\&");
        if (*p == '-' || *p == '\\')
            cli_print(*p == '-' ? "\\-" : "\\e");
        else
            cli_print("%c", *p);
    }
    cli_print("\n");
}

static void man_head(const char *name, const char *summary) {
    char upper[64];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof upper; n++) upper[n] = (char)toupper((unsigned char)name[n]);
    upper[n] = 0;
    cli_print(".TH %s 1 \"\" \"surety %s\" \"User Commands\"\n.SH NAME\n%s \\- ", upper, surety_version(),
              name);
    roff(summary);
    cli_print(".SH SYNOPSIS\n");
}

static void print_man(const cli *c) {
    char name[64], text[640];
    snprintf(name, sizeof name, "surety-%s", c->command->name);
    man_head(name, c->command->summary);
    cli_print(".B surety %s\n", c->command->name);
    roff(c->command->usage);
    cli_print(".SH DESCRIPTION\n");
    roff(text_of(c->command));
    cli_print(".SH OPTIONS\n");
    for (size_t i = 0; i < c->count; i++) {
        cli_print(".TP\n.B ");
        roff(heading(&c->options[i], name));
        roff(words_of(&c->options[i], text));
    }
    cli_print(".SH EXAMPLE\n.nf\n");
    roff(c->command->example);
    cli_print(".fi\n.SH EXIT STATUS\n");
    roff(CLI_EXIT_CODES);
    cli_print(".SH SEE ALSO\n.BR surety (1)\n");
}

void cli_man(void) {
    man_head("surety", "majority votes with a guarantee against adversarial perturbations");
    cli_print(".B surety\nCOMMAND [options]\n.SH COMMANDS\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        cli_print(".TP\n.BR surety\\-%s (1)\n", cli_commands[i]->name);
        roff(cli_commands[i]->summary);
    }
    cli_print(".SH EXIT STATUS\n");
    roff(CLI_EXIT_CODES);
    cli_print(
        ".SH SEE ALSO\n.B surety help\nCOMMAND; the pages in docs/ of its sources, beginning with "
        "docs/index.md\n");
}

/* ---- completion ---- */

/* "error|median|flag": words to choose from; "N|P%" and FILE are none. */
static int is_choice(const char *value) {
    return strchr(value, '|') && value[strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-|")] == 0;
}

/* What the value is chosen from, or NULL. What reads names lists them when it refuses one: so the list is the
 * library's. */
static const char *choices_of(const cli_option *o, surety_error *err) {
    static const char one_of[] = "one of ";
    if (!o->value || o->choices) return o->choices;
    if (is_choice(o->value)) return o->value;
    int names = !strcmp(o->value, "NAME") || !strncmp(o->value, "A,B", 3);
    if (!names || o->read("?", o->target, err) == SURETY_OK) return NULL;
    return strncmp(err->expected, one_of, strlen(one_of)) ? NULL : err->expected + strlen(one_of);
}

/* May a file follow? That is its value, or the option is a flag. */
static int before_file(const cli_option *o) {
    return !o->value || o->role != CLI_NO_FILE || !strncmp(o->value, "FILE", 4) || !strcmp(o->value, "DIR");
}

/* "a, b" or "a|b" as "a b" */
static void print_words(const char *words) {
    for (const char *p = words; *p; p++)
        if (*p != ',') cli_print("%c", *p == '|' ? ' ' : *p);
}

static void print_completion(const cli *c) {
    const char *name = c->command->name;
    cli_print("        %s\\ *) words=\"", name);
    for (size_t i = 0; i < c->count; i++) cli_print("%s--%s", i ? " " : "", c->options[i].name);
    cli_print("\"");
    if (c->command->first) cli_print("; first=\"%s\"", c->command->first);
    cli_print(" ;;\n");
    for (size_t i = 0; i < c->count; i++) {
        surety_error err = {0};
        const char *choices = choices_of(&c->options[i], &err);
        if (!choices) continue;
        cli_print("        %s=--%s) words=\"", name, c->options[i].name);
        print_words(choices);
        cli_print("\" ;;\n");
    }
    const char *between = "        ";
    for (size_t i = 0; i < c->count; i++)
        if (before_file(&c->options[i])) {
            cli_print("%s%s=--%s", between, name, c->options[i].name);
            between = "|";
        }
    cli_print(") ;;\n");
}

surety_status cli_completion(cli *c) {
    cli_print(
        "# shellcheck shell=bash\n# 'surety help --completion' writes this.\n"
        "_surety() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} "
        "command=${COMP_WORDS[1]}\n"
        "    local words='' first='' files=yes list='' key\n"
        "    if [[ $cur == '=' ]]; then cur=''; fi # --norm=\n"
        "    if [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
        "    key=\"$command \"\n"
        "    if [[ $before == --* && $cur != --* ]]; then key=$command=$before; fi\n"
        "    if ((COMP_CWORD == 1)) || [[ $command == help ]]; then key=commands; fi\n"
        "    case $key in\n"
        "        commands) words=\"");
    for (size_t i = 0; cli_commands[i]; i++) cli_print("%s ", cli_commands[i]->name);
    cli_print("help\"; files= ;;\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        cli one = *c;
        one.command = cli_commands[i];
        one.helping = CLI_COMPLETION;
        surety_status status = one.command->run(&one);
        if (status != SURETY_OK) return status;
    }
    cli_print(
        "        *=*) files= ;; # a number, a name\n"
        "    esac\n"
        "    if [[ $key == *' ' && $cur != --* ]]; then\n"
        "        words=''\n"
        "        if ((COMP_CWORD == 2)) && [[ $first ]]; then words=$first files=; fi\n"
        "    fi\n"
        "    if [[ $cur == *,* ]]; then list=${cur%%,*},; fi # A,B,..\n"
        "    COMPREPLY=()\n"
        "    if [[ $words ]]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -P \"$list\" -W \"$words\" -- \"${cur##*,}\")\n"
        "    elif [[ $files && $cur != --* ]]; then\n"
        "        compopt -o filenames 2>/dev/null || :\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
        "    fi\n"
        "}\n"
        "complete -F _surety surety\n");
    return SURETY_OK;
}

void cli_help(const cli *c) {
    if (c->helping == CLI_MAN)
        print_man(c);
    else if (c->helping == CLI_COMPLETION)
        print_completion(c);
    else
        print_help(c);
}
