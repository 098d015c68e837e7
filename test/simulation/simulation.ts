/** What a simulation is to the command that runs it. */

/** Something that must never happen and did. */
export interface Violation {
  /** The invariant, by its id, or a word for what went wrong. */
  readonly invariant: string
  readonly what: string
}

/** What one seed did. */
export interface SeedReport {
  readonly seed: number
  readonly violations: readonly Violation[]
  /** Two runs of a seed have the same one. */
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

/** How a seed is run. */
export interface SeedOptions {
  /** Is told everything that happens, line by line. */
  readonly trace?: (line: string) => void
}

/** A change of one source file. */
export interface PlantedEdit {
  /** From the root of the repository. */
  readonly file: string
  /** Text that occurs once in the file. */
  readonly find: string
  readonly replace: string
}

/** A bug planted on purpose: a simulation that does not find it proves nothing. */
export interface Mutant extends PlantedEdit {
  readonly name: string
  /** What the planted bug does. */
  readonly breaks: string
  /** Further changes, where one guard stands behind another and both have to go. */
  readonly also?: readonly PlantedEdit[]
  /** A seed that finds it. */
  readonly seed: number
}

/** A simulation by name. */
export interface Simulation {
  readonly name: string
  /** Address of the module that exports it as `simulation`: each process loads it for itself. */
  readonly module: string
  /** States that a long run must have reached. */
  readonly goals: readonly string[]
  readonly mutants: readonly Mutant[]
  /** Where the seeds of the mutants are recorded. */
  readonly seedFile: string | null
  /** Runs one seed on the sources as they were loaded. */
  run(seed: number, options?: SeedOptions): Promise<SeedReport>
}
