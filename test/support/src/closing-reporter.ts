import { writeSync } from 'node:fs'
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'
import type { ServicesInRun } from './availability.ts'
import { type KindsInRun, summarizeKinds } from './kind-summary.ts'
import { readRequirements } from './requirement.ts'
import { type CountedTest, summarizeServices } from './service-summary.ts'

/** Number of tests by outcome. */
interface Count {
  passed: number
  failed: number
  skipped: number
}

/**
 * Closes a run with the real services it used, the kinds of tests it ran and left out, and one plain line that people and
 * programs read: `N passed, N failed, N skipped`.
 */
export default class ClosingReporter implements Reporter {
  #vitest: Vitest | undefined
  #summary: readonly string[] = []
  #count: Count = { passed: 0, failed: 0, skipped: 0 }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
    // On exit, so that nothing is printed below it while servers and workers close.
    if (!vitest.config.watch) process.once('exit', (code) => this.#close(code))
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    this.#count = countTests(modules, unhandledErrors.length)
    const services = this.#vitest?.getRootProject().getProvidedContext().services
    if (services !== undefined) this.#summarize(services, modules)
    if (this.#vitest?.config.watch) setImmediate(() => this.#close(0))
  }

  #summarize(services: ServicesInRun, modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()].map(toCounted))
    const { lines, failures } = summarizeServices(services, tests, readRequirements())
    const kinds = this.#vitest === undefined ? [] : summarizeKinds(kindsOf(this.#vitest, modules))
    this.#summary = ['', ...lines, ...kinds, ...failures.map((failure) => `FAILED: ${failure}`)]
    if (failures.length === 0) return
    this.#count.failed += failures.length
    process.exitCode = 1
  }

  #close(code: number): void {
    const { passed, skipped } = this.#count
    // A run can fail without a failed test: it found no tests, or it never began.
    const failed = code === 0 ? this.#count.failed : Math.max(1, this.#count.failed)
    writeOut([...this.#summary, '', `${passed} passed, ${failed} failed, ${skipped} skipped`, ''].join('\n'))
  }
}

function kindsOf(vitest: Vitest, modules: readonly TestModule[]): KindsInRun {
  const ran = new Map<string, number>()
  for (const module of modules) {
    const tests = [...module.children.allTests()].filter((test) => test.result().state !== 'skipped')
    if (tests.length > 0) ran.set(module.project.name, (ran.get(module.project.name) ?? 0) + tests.length)
  }
  const declared = (vitest.config.projects ?? []).flatMap((project) => nameOf(project) ?? [])
  // Not in Vitest's types. Without it a run of single files would list the kinds it left out: noise, and not wrong.
  const { filenamePattern = [] } = vitest as { readonly filenamePattern?: readonly string[] }
  const isPartial = vitest.config.mode !== 'test' || filenamePattern.length > 0
  return { declared, selected: vitest.projects.map(({ name }) => name), ran, isPartial }
}

function nameOf(project: unknown): string | undefined {
  const { test } = project as { readonly test?: { readonly name?: unknown } }
  return typeof test?.name === 'string' ? test.name : undefined
}

function toCounted(test: TestCase): CountedTest {
  const result = test.result()
  const isSkipped = result.state === 'skipped'
  const note = isSkipped ? result.note : undefined
  return { services: test.meta().services ?? {}, isSkipped, ...(note === undefined ? {} : { note }) }
}

function countTests(modules: readonly TestModule[], unhandledErrors: number): Count {
  const count: Count = { passed: 0, failed: unhandledErrors, skipped: 0 }
  for (const module of modules) {
    // A file that cannot be loaded, or a hook that fails, leaves tests unrun. Without this count the failure would not show.
    count.failed += module.errors().length
    for (const suite of module.children.allSuites()) count.failed += suite.errors().length
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      count[state === 'pending' ? 'failed' : state]++
    }
  }
  return count
}

/** Writes without Node's streams: a process that exits does not wait for them. */
function writeOut(text: string): void {
  const bytes = Buffer.from(text)
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(process.stdout.fd, bytes, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return // The reader has closed the pipe.
    }
  }
}
