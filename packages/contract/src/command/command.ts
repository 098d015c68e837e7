/** The way a command ended: 0 done or warnings only, 1 unreadable input, 2 wrong use, 3 the check failed. */
export type ExitCode = 0 | 1 | 2 | 3

/** The surroundings of a command. Results go to `out`, everything else to `err`. */
export interface CommandContext {
  readonly cwd: string
  /** The day in UTC, as `2026-12-31`. */
  readonly today: string
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** An option on the command line. */
export interface CommandOption {
  readonly type: 'string' | 'boolean'
  /** Whether it may be repeated. */
  readonly multiple?: boolean
  /** The name of its value in help texts: FILE. */
  readonly takes?: string
  readonly about: string
  /** The only values that it may have. */
  readonly oneOf?: readonly string[]
}

/** The options of one run. */
export interface GivenOptions {
  readonly texts: Readonly<Record<string, string | undefined>>
  readonly lists: Readonly<Record<string, readonly string[] | undefined>>
  readonly flags: ReadonlySet<string>
  readonly words: readonly string[]
}

/** One command of `waybill-contract`. */
export interface Command {
  readonly name: string
  readonly about: string
  /** Lines that show its use. */
  readonly examples: readonly string[]
  readonly options: Readonly<Record<string, CommandOption>>
  run(given: GivenOptions, context: CommandContext): Promise<ExitCode>
}

/** Reports wrong use. */
export function wrongUse({ err }: CommandContext, problem: string): ExitCode {
  err(`${problem}\n`)
  return 2
}
