/**
 * The cost of importing each root entry, beside the Kafka clients that a program would import instead. Every import
 * happens in a process of its own, from the built packages, and the contestants take turns.
 */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BenchOptions } from '../bench-options.ts'
import { compare } from '../statistics.ts'

const run = promisify(execFile)
const bench = join(import.meta.dirname, '../..')

/** Our root entries, each the name of a folder in `packages`. */
const entries = ['core', 'outbox', 'sql', 'kafka', 'connector', 'sim', 'testkit']
const references = ['kafkajs', '@platformatic/kafka']

/** The cost of one import. */
interface ImportCost {
  readonly wallMs: number
  /** User and system time of all threads. */
  readonly cpuMs: number
  /** Resident memory of the whole process after the import; an empty process has about 44 MB. */
  readonly rssMb: number
}

const units: readonly (readonly [field: keyof ImportCost, unit: string])[] = [
  ['wallMs', 'ms'],
  ['cpuMs', 'CPU ms'],
  ['rssMb', 'MB RSS'],
]

/** Measures every entry. @throws Error when the packages are not built. */
export async function runStartupBench({ rounds, only, progress, report }: BenchOptions): Promise<void> {
  const chosen = entries.map((entry) => `@waybill/${entry}`).filter((name) => name.includes(only))
  requireBuild()
  const costs = new Map<string, ImportCost[]>([...chosen, ...references].map((name) => [name, []]))
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`)
    for (const [name, measured] of costs) measured.push(await measureImport(name))
  }
  for (const entry of chosen) {
    for (const reference of references) {
      for (const [field, unit] of units) {
        const valuesOf = (name: string): number[] => (costs.get(name) ?? []).map((cost) => cost[field])
        report(compare({ bench: 'startup', case: entry, unit, reference }, valuesOf(entry), valuesOf(reference), true))
      }
    }
  }
}

function requireBuild(): void {
  const missing = entries.filter((entry) => !existsSync(join(bench, '../packages', entry, 'dist/index.js')))
  if (missing.length > 0) throw new Error(`Not built: ${missing.join(', ')}. Run \`npm run build\` first.`)
}

/** Imports an entry as users install it: without the export condition that points at the sources. */
async function measureImport(name: string): Promise<ImportCost> {
  const script = `
    const cpu = process.cpuUsage()
    const start = performance.now()
    await import(${JSON.stringify(name)})
    const wallMs = performance.now() - start
    const { user, system } = process.cpuUsage(cpu)
    const rssMb = process.memoryUsage.rss() / 1e6
    console.log(JSON.stringify({ wallMs, cpuMs: (user + system) / 1000, rssMb }))
  `
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: bench })
  return JSON.parse(stdout) as ImportCost
}
