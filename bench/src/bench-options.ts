import type { BenchLine } from './statistics.ts'

/** What every benchmark is run with. */
export interface BenchOptions {
  readonly rounds: number
  /** Only cases whose name contains this. */
  readonly only: string
  readonly progress: (text: string) => void
  readonly report: (line: BenchLine) => void
}
