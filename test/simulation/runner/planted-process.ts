/** A process that runs planted bugs of one simulation, one after another, each by its recorded seed. */

import { flushCompileCache } from 'node:module'
import type { Mutant, Violation } from '../simulation.ts'
import { PlantedLoader } from './planted-loader.ts'

/** Its messages: READY once, and then one answer to each bug. */
export type PlantedAnswer =
  | { readonly kind: 'READY' }
  | { readonly kind: 'RAN'; readonly violation: Violation | undefined }
  | { readonly kind: 'FAILED'; readonly reason: string }

function say(answer: PlantedAnswer): void {
  process.send?.(answer)
}

// The same limit as in runs without a bug: stacks of another length would be another run.
Error.stackTraceLimit = 0

async function run(loader: PlantedLoader, mutant: Mutant): Promise<void> {
  try {
    const simulation = await loader.load(mutant)
    const { violations } = await simulation.run(mutant.seed)
    say({ kind: 'RAN', violation: violations[0] })
  } catch (error) {
    say({ kind: 'FAILED', reason: String(error) })
  }
}

try {
  const loader = await PlantedLoader.open(process.argv[2] ?? '')
  process.on('message', (mutant: Mutant) => void run(loader, mutant))
  flushCompileCache() // The process is killed at the end, and the next one loads the same files.
  say({ kind: 'READY' })
} catch (error) {
  say({ kind: 'FAILED', reason: String(error) })
}
