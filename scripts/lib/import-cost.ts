import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The cost of importing a module in a fresh process. */
export interface ImportCost {
  readonly importMs: number
  /** Memory of the whole process once the module is loaded, Node included. */
  readonly rssMb: number
}

/** A module to import. */
export interface ImportSubject {
  /** A bare specifier; undefined for Node alone. */
  readonly specifier: string | undefined
  /** Export conditions, such as the one that leads to the sources. */
  readonly conditions?: readonly string[]
}

const run = promisify(execFile)

/**
 * Returns the median cost of each subject. Rounds are interleaved, so that a busy moment of the machine falls on all of
 * them alike.
 */
export async function measureImports(
  subjects: readonly ImportSubject[],
  { root, rounds = 5 }: { readonly root: string; readonly rounds?: number },
): Promise<ImportCost[]> {
  const samples = subjects.map((): ImportCost[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, subject] of subjects.entries()) samples[index]?.push(await measureOnce(subject, root))
  }
  return samples.map((of) => ({
    importMs: Math.round(median(of.map(({ importMs }) => importMs))),
    rssMb: Math.round(median(of.map(({ rssMb }) => rssMb))),
  }))
}

async function measureOnce({ specifier, conditions = [] }: ImportSubject, cwd: string): Promise<ImportCost> {
  const program = `
    const start = performance.now()
    ${specifier === undefined ? '' : `await import(${JSON.stringify(specifier)})`}
    const importMs = performance.now() - start
    process.stdout.write(JSON.stringify({ importMs, rssMb: process.memoryUsage.rss() / 1e6 }), () => process.exit())`
  // A compile cache would make every round but the first cheaper than a user's first import.
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1', NODE_OPTIONS: '' }
  const flags = conditions.map((condition) => `--conditions=${condition}`)
  const { stdout } = await run(process.execPath, [...flags, '--input-type=module', '--eval', program], { cwd, env })
  return JSON.parse(stdout) as ImportCost
}

/** Returns the middle value, or the upper one of two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (middle === undefined) throw new Error('The median of no values is not defined. Measure at least once.')
  return middle
}
