/** The contract between a simulation and the command that runs it. */

/** A violated invariant. */
export interface Violation {
  /** The id of the invariant, or a name for the failure. */
  readonly invariant: string
  readonly what: string
}

/** The result of one seed. */
export interface SeedReport {
  readonly seed: number
  readonly violations: readonly Violation[]
  /** A hash of the trace: two runs of a seed have the same one. */
  readonly traceHash: string
  /** Timers that ran. */
  readonly events: number
  /** Virtual time that passed. */
  readonly elapsedMs: number
  /** Faults that were injected, by name. */
  readonly faults: ReadonlyMap<string, number>
  /** Rare states that were reached, by name. */
  readonly rareStates: ReadonlyMap<string, number>
}

/** Options for running a seed. */
export interface SeedOptions {
  /** Receives the trace, line by line. */
  readonly trace?: (line: string) => void
}

/** A change of one source file. */
export interface PlantedEdit {
  /** Path relative to the root of the repository. */
  readonly file: string
  /** Text that occurs once in the file. */
  readonly find: string
  readonly replace: string
}

/** A bug planted on purpose: a simulation that does not find it proves nothing. */
export interface Mutant extends PlantedEdit {
  readonly name: string
  /** The effect of the planted bug. */
  readonly breaks: string
  /** Further changes, where a second guard would hide the bug and must go too. */
  readonly also?: readonly PlantedEdit[]
  /** A seed that finds it. */
  readonly seed: number
}

/** A simulation by name. */
export interface Simulation {
  readonly name: string
  /** Address of the module that exports it as `simulation`: each process loads it separately. */
  readonly module: string
  /** States that a long run must have reached. */
  readonly goals: readonly string[]
  readonly mutants: readonly Mutant[]
  /** The file that records the seeds of the mutants. */
  readonly seedFile: string | null
  /** Runs one seed on the sources as they were loaded. */
  run(seed: number, options?: SeedOptions): Promise<SeedReport>
}
