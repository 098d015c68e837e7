import { importsOf } from '../module-import.ts'
import { sourceOf } from '../source.ts'
import { type Finding, filesOf, findMatches, packageSource, type Rule, type Tree } from '../tree.ts'

/** A global of the process, and its replacement. */
interface Ambient {
  readonly name: string
  readonly pattern: RegExp
  readonly instead: string
}

const ambients: readonly Ambient[] = [
  { name: 'Date.now', pattern: /\bDate\s*\??\.\s*now\b/g, instead: 'runtime.clock.now()' },
  { name: 'new Date()', pattern: /\bnew\s+Date\b(?:\s*\(\s*\)|(?!\s*\())/g, instead: 'new Date(runtime.clock.now())' },
  { name: 'performance', pattern: /(?<![\w$.])performance\s*\??\./g, instead: 'runtime.clock.monotonic()' },
  { name: 'process.hrtime', pattern: /\bhrtime\b/g, instead: 'runtime.clock.monotonic()' },
  ...['setTimeout', 'setInterval', 'setImmediate'].map((name) => ({
    name,
    // A method of another object may have this name; the global object's is the same function.
    pattern: new RegExp(`(?:\\bglobalThis\\s*\\.\\s*|(?<![\\w$.]))${name}\\b`, 'g'),
    instead: 'runtime.timers',
  })),
  {
    name: 'AbortSignal.timeout',
    pattern: /\bAbortSignal\s*\.\s*timeout\b/g,
    instead: 'runtime.timers.sleep with a signal',
  },
  { name: 'Math.random', pattern: /\bMath\s*\.\s*random\b/g, instead: 'runtime.random()' },
  {
    name: 'crypto randomness',
    pattern: /\b(?:randomUUID|randomBytes|randomInt|randomFill(?:Sync)?|getRandomValues)\b/g,
    instead: 'an id made from runtime.clock and runtime.random',
  },
  {
    name: 'process.env',
    pattern: /\bprocess\s*\??\.\s*env\b|\{[^{}]*\benv\b[^{}]*\}\s*=\s*process\b/g,
    instead: 'an option',
  },
]

/** Modules that provide the same under a name of the importer's choice. */
const ambientModules: ReadonlyMap<string, string> = new Map([
  ['node:timers', 'runtime.timers'],
  ['node:timers/promises', 'runtime.timers'],
  ['node:perf_hooks', 'runtime.clock'],
  ['node:process', 'the global process, where this rule sees what is read'],
])

/** A file that may use these globals, because it is the adapter that provides them to all others. */
export interface AmbientOwner {
  readonly path: string
  readonly names: readonly string[]
  readonly why: string
}

const owners: readonly AmbientOwner[] = [
  {
    path: 'packages/core/src/runtime/clock.ts',
    names: ['Date.now', 'performance'],
    why: 'it is the system clock',
  },
  {
    path: 'packages/core/src/runtime/timers.ts',
    names: ['setTimeout', 'performance'],
    why: 'it is the system timers; long delays are measured, not added up',
  },
  {
    path: 'packages/core/src/runtime/random.ts',
    names: ['Math.random'],
    why: 'it is the system source of chance',
  },
  {
    path: 'packages/kafka/src/wire/broker/scram.ts',
    names: ['crypto randomness'],
    why: 'the nonce of a login must be unpredictable, and only a real broker asks for one',
  },
  {
    path: 'packages/sim/src/time/drive.ts',
    names: ['setImmediate'],
    why: 'a turn of the real event loop is how it knows that all promises have settled',
  },
  {
    path: 'packages/sim/src/time/forbid-real-time.ts',
    names: ['process.hrtime'],
    why: 'it replaces the real ones, so it has to name them',
  },
  {
    path: 'packages/testkit/src/leak/leak-check.ts',
    names: ['setImmediate'],
    why: 'a turn of the real event loop lets closed handles disappear before the check',
  },
]

/** Checks that time, randomness and the environment are injected. */
export const ambientRule: Rule = {
  title: 'time, chance and the environment come from the runtime and the options',
  why:
    'Code that takes time or chance from the process cannot be simulated, and a bug in it cannot be replayed from its ' +
    'seed; code that reads the environment cannot be configured twice in one process. Take a Runtime or an option; a new ' +
    'adapter gets a row, with its reason, in the owner table of test/tidy/rule/ambient.ts.',
  find: (tree) => findAmbient(tree, owners),
}

/** Applies the rule with any table of owners. An owner that no longer needs its row is a finding too. */
export function findAmbient(tree: Tree, table: readonly AmbientOwner[]): Finding[] {
  const unused = new Set(table.flatMap(({ path, names }) => names.map((name) => `${path} ${name}`)))
  const uses = filesOf(tree, packageSource).flatMap(([path, text]) => {
    const { code } = sourceOf(text)
    return ambients.flatMap(({ name, pattern, instead }) => {
      const found = findMatches(path, code, pattern, () => `takes ${name} from the process: use ${instead}`)
      if (found.length === 0) return []
      const isOwned = table.some((owner) => owner.path === path && owner.names.includes(name))
      unused.delete(`${path} ${name}`)
      return isOwned ? [] : found
    })
  })
  const stale = [...unused].map((row) => {
    const [path = '', ...name] = row.split(' ')
    return { path, line: 1, message: `owns ${name.join(' ')} in the owner table, but does not use it: remove the row` }
  })
  return [...uses, ...findAmbientModules(tree), ...stale]
}

function findAmbientModules(tree: Tree): Finding[] {
  return filesOf(tree, packageSource).flatMap(([path, text]) =>
    importsOf(text).flatMap(({ specifier, line }) => {
      const instead = ambientModules.get(specifier ?? '')
      return instead === undefined ? [] : [{ path, line, message: `imports ${specifier}: use ${instead}` }]
    }),
  )
}
