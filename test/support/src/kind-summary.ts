/** The kinds of tests in a run, by the names of their projects in vitest.config.ts. */
export interface KindsInRun {
  /** Every kind that vitest.config.ts declares. */
  readonly declared: readonly string[]
  /** Kinds that the command selected. */
  readonly selected: readonly string[]
  /** Number of tests that ran, by kind. */
  readonly ran: ReadonlyMap<string, number>
  /** True when the command named files: the run then says nothing about the kinds it left out. */
  readonly isPartial: boolean
}

/** Describes which kinds of tests ran, and which ones only `npm run check` runs. */
export function summarizeKinds({ declared, selected, ran, isPartial }: KindsInRun): string[] {
  const counts = declared.flatMap((kind) => (ran.has(kind) ? [`${kind} ${ran.get(kind)}`] : []))
  const left = isPartial ? [] : declared.filter((kind) => !selected.includes(kind))
  return [
    ...(counts.length === 0 ? [] : [`Ran here: ${counts.join(', ')}.`]),
    ...(left.length === 0 ? [] : [`Left to \`npm run check\`: ${left.join(', ')}.`]),
  ]
}
