/** The passes of a contestant: the same work several times in one process, so that the last one runs compiled code. */

/** The fields that a handler reads of each record. */
export type Reads = 'NOTHING' | 'KEY_VALUE' | 'ALL'

/** The work of a contestant's process: one pass for each topic, in this order. */
export interface PassTask {
  readonly topics: readonly string[]
  /** The number of records in each topic. */
  readonly records: number
  readonly reads: Reads
  /** A contestant whose pass takes longer fails. */
  readonly waitSeconds: number
}

/** The cost of one pass, and the evidence that it was done. */
export interface PassResult {
  readonly pass: number
  readonly topic: string
  readonly records: number
  /** From the first call of the handler until the last record is done. */
  readonly seconds: number
  /** User and system time of the whole process from before it joined its group until the last record was done. */
  readonly cpuSeconds: number
  /** Absent if the contestant has no group. */
  readonly groupId?: string
  /** Calls of the handler. */
  readonly handled?: number
  /** Records with at least one call, by the number in their value; 0 if the value is not read. */
  readonly distinct?: number
  /** The size of all fields that were read. */
  readonly bytes?: number
  /** Commit requests until the last record was done. */
  readonly commits?: number
  /** Bytes in use after a garbage collection, for the cases that measure it. */
  readonly heap?: readonly number[]
}

/** Parses the output of a contestant: one line of JSON for each pass. */
export function parsePasses(output: string): PassResult[] {
  return output.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as PassResult] : []))
}
