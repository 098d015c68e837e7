/**
 * Latency of single records, measured in blocks of 0.6 s that alternate between the clients: A B C, C B A, and so on. A
 * machine that slows down for a while slows all clients down, and the first client of one turn is the last of the next.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** Delays between send and receipt in one round. */
export interface Latency {
  readonly p50Ms: number
  readonly p99Ms: number
}

/** A command that serves blocks on its input and output. */
export interface LatencyCommand {
  readonly command: string
  readonly args: readonly string[]
}

/** Records per block. The first are not counted: their code and data have left the processor's caches. */
const blockRecords = 120
const coldRecords = 20
/** Blocks that are not counted. */
const warmUpBlocks = 4
/** Blocks per round: an even number, so that both orders occur equally often. */
const blocksPerRound = 8

/** Runs the rounds with processes that live through all of them. Resolves with the latencies of each client by round. */
export async function measureLatency<N extends string>(
  commands: ReadonlyMap<N, LatencyCommand>,
  rounds: number,
  progress: (round: number) => void,
): Promise<Map<N, Latency[]>> {
  const participants = Array.from(commands, ([name, command]) => ({ name, process: new Participant(command) }))
  const latencies = new Map<N, Latency[]>(participants.map(({ name }) => [name, []]))
  try {
    for (let block = 0; block < warmUpBlocks; block++) for (const one of participants) await one.process.block()
    for (let round = 1; round <= rounds; round++) {
      progress(round)
      const delays = new Map<N, number[]>(participants.map(({ name }) => [name, []]))
      for (let block = 0; block < blocksPerRound; block++) {
        const inTurn = block % 2 === 0 ? participants : participants.toReversed()
        for (const { name, process } of inTurn) delays.get(name)?.push(...(await process.block()))
      }
      for (const [name, delaysMs] of delays) latencies.get(name)?.push(summarise(delaysMs))
    }
    return latencies
  } finally {
    await Promise.all(participants.map(({ process }) => process.end()))
  }
}

function summarise(delaysMs: readonly number[]): Latency {
  const sorted = delaysMs.toSorted((one, other) => one - other)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] as number
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}

/** A client in a process of its own, waiting for its next block. */
class Participant {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>

  constructor({ command, args }: LatencyCommand) {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child = child
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  }

  /** Resolves with the counted delays of one block. */
  async block(): Promise<number[]> {
    this.#child.stdin?.write(`${blockRecords}\n`)
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error(`${this.#child.spawnargs.join(' ')} ended before its block.`)
    return (JSON.parse(value) as number[]).slice(coldRecords)
  }

  /** Resolves when the process has ended, after which its topic can be deleted. */
  async end(): Promise<void> {
    this.#child.stdin?.end()
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
  }
}
