import { writeSync } from 'node:fs'
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'
import type { ServicesInRun } from './availability.ts'
import { readRequirements } from './requirement.ts'
import { type CountedTest, summariseServices } from './service-summary.ts'

/** How many tests ended how. */
interface Count {
  passed: number
  failed: number
  skipped: number
}

/**
 * Ends a run with what it says of the real services, and then with one plain line that people and machines read alike:
 * `N passed, N failed, N skipped`.
 */
export default class ClosingReporter implements Reporter {
  #vitest: Vitest | undefined
  #summary: readonly string[] = []
  #count: Count = { passed: 0, failed: 0, skipped: 0 }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
    // At the very end, after all that is said while servers and workers are closed. Nothing written later exists.
    if (!vitest.config.watch) process.once('exit', (code) => this.#close(code))
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    this.#count = countTests(modules, unhandledErrors.length)
    const services = this.#vitest?.getRootProject().getProvidedContext().services
    if (services !== undefined) this.#summarise(services, modules)
    if (this.#vitest?.config.watch) setImmediate(() => this.#close(0))
  }

  #summarise(services: ServicesInRun, modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()].map(toCounted))
    const { lines, failures } = summariseServices(services, tests, readRequirements())
    this.#summary = ['', ...lines, ...failures.map((failure) => `FAILED: ${failure}`)]
    if (failures.length === 0) return
    this.#count.failed += failures.length
    process.exitCode = 1
  }

  #close(code: number): void {
    const { passed, skipped } = this.#count
    // A run that fails for a reason that is no test, such as one that found no tests or never began, has failed too.
    const failed = code === 0 ? this.#count.failed : Math.max(1, this.#count.failed)
    writeOut([...this.#summary, '', `${passed} passed, ${failed} failed, ${skipped} skipped`, ''].join('\n'))
  }
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
    // A file that cannot be loaded, or a hook that fails, leaves tests unrun: it would vanish from the count.
    count.failed += module.errors().length
    for (const suite of module.children.allSuites()) count.failed += suite.errors().length
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      count[state === 'pending' ? 'failed' : state]++
    }
  }
  return count
}

/** Past Node's streams, which a process that exits does not wait for. */
function writeOut(text: string): void {
  const bytes = Buffer.from(text)
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(process.stdout.fd, bytes, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return // Nobody reads any more.
    }
  }
}
