/**
 * README's table of files is the path of README's own program. The program runs with V8's coverage on, which says which
 * functions were called, and notes which file calls the listener and the handler.
 */

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tableRowsOf } from '../tidy/markdown.ts'

const root = join(import.meta.dirname, '..', '..')
const readme = await readFile(join(root, 'README.md'), 'utf8')
const heading = '## Where an event goes'

/** One script of a coverage report of V8. */
interface CoveredScript {
  readonly url: string
  readonly functions: readonly {
    readonly functionName: string
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[]
  }[]
}

/** The loaded source files, those with a called function, and the callers of user code. */
interface Run {
  readonly loaded: ReadonlySet<string>
  readonly entered: ReadonlySet<string>
  readonly callers: Readonly<Record<string, string>>
}

/** Replaces text that must occur once: a rewritten program must not escape the test. */
function replaceOnce(text: string, searched: string, replacement: string): string {
  expect(text.split(searched)).toHaveLength(2)
  return text.replace(searched, replacement)
}

/** Makes the program note the file that calls its listener, and the one that calls its handler. */
function traced(program: string): string {
  const listener = 'publishEvents(kafka, events)'
  const handled = 'resolve()'
  const registry = `((registry) => ({
    ...registry,
    listenerFor: (...names) => {
      const publish = registry.listenerFor(...names)
      return publish === null ? null : (...call) => (noteCaller('listener'), publish(...call))
    },
  }))(${listener})`
  const noteCaller = `
    import { appendFileSync } from 'node:fs'
    function noteCaller(of) {
      const caller = new Error().stack.split('\\n').find((frame) => /\\/packages\\/\\w+\\/src\\//.test(frame))
      appendFileSync(process.env.CALLERS_FILE, JSON.stringify({ [of]: /packages\\/[^:)]+/.exec(caller)[0] }) + '\\n')
    }`
  const withListener = replaceOnce(program, `listeners: ${listener}`, `listeners: ${registry}`)
  return replaceOnce(withListener, handled, `(noteCaller('handler'), ${handled})`) + noteCaller
}

async function runProgram(folder: string): Promise<Run> {
  const program = /^```ts\n(.*?)^```/ms.exec(readme)?.[1] ?? ''
  const file = join(folder, 'program.ts')
  const coverage = join(folder, 'coverage')
  const callersFile = join(folder, 'callers')
  await writeFile(file, traced(program))
  const env = { ...process.env, NODE_V8_COVERAGE: coverage, CALLERS_FILE: callersFile }
  await promisify(execFile)(process.execPath, ['--conditions=@waybill/source', file], { env, timeout: 20_000 })
  const reports = await Promise.all((await readdir(coverage)).map((name) => readFile(join(coverage, name), 'utf8')))
  const scripts = reports.flatMap((report) => (JSON.parse(report) as { result: CoveredScript[] }).result)
  const lines = (await readFile(callersFile, 'utf8')).trim().split('\n')
  return {
    loaded: pathsOf(scripts),
    entered: pathsOf(scripts.filter(isEntered)),
    callers: Object.assign({}, ...lines.map((line) => JSON.parse(line) as object)) as Record<string, string>,
  }
}

/** Returns the paths of scripts from the root of the repository. */
function pathsOf(scripts: readonly CoveredScript[]): ReadonlySet<string> {
  return new Set(scripts.map(({ url }) => url.slice(pathToFileURL(`${root}/`).href.length)))
}

/** A module that is only loaded runs its top level, which V8 counts as a function without a name at its start. */
function isEntered({ functions }: CoveredScript): boolean {
  return functions.some(({ functionName, ranges }) => {
    const [whole] = ranges
    return whole !== undefined && whole.count > 0 && !(functionName === '' && whole.startOffset === 0)
  })
}

const section = readme.slice(readme.indexOf(heading)).split(/\n## /)[0] ?? ''
const named = tableRowsOf(section).flatMap(({ cells }) =>
  [...cells.join(' ').matchAll(/\]\((packages\/[^)]+)\)/g)].map((link) => link[1] ?? ''),
)

let folder: string
let run: Run

beforeAll(async () => {
  // Inside the repository, so that the program resolves packages as a user's project would.
  await mkdir(join(root, '.waybill'), { recursive: true })
  folder = await mkdtemp(join(root, '.waybill', 'readme-path-'))
  run = await runProgram(folder)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

test('README shows the path of an event in seven files', () => {
  expect(new Set(named).size).toBe(7)
})

test("README's program enters every file that its table of the path names", () => {
  expect(named.filter((path) => !run.entered.has(path))).toEqual([])
})

test('the table of the path names the file that calls the listener, and the one that calls the handler', () => {
  expect(Object.keys(run.callers).toSorted()).toEqual(['handler', 'listener'])
  expect(named).toEqual(expect.arrayContaining(Object.values(run.callers)))
})

test('a file that the program only loads does not count as entered', () => {
  const onlyLoaded = [...run.loaded].filter((path) => path.startsWith('packages/') && !run.entered.has(path))
  expect(onlyLoaded.length).toBeGreaterThan(0)
})
