import type { Capabilities, Harness } from './harness.ts'
import type { SuiteRunner } from './suite-runner.ts'

/** Collects the tests of a suite's parts. Each test gets a scene of its own, which is disposed afterward. */
export interface Suite<Scene, Capability extends string> {
  readonly describe: (title: string, define: () => void) => void
  readonly test: (title: string, run: (scene: Scene) => Promise<void>) => void
  /** Declares a test that needs a capability. If it is absent, the test is reported with the reason. */
  readonly testWith: (needed: Capability, title: string, run: (scene: Scene) => Promise<void>) => void
}

/** Declares a suite: first its capabilities, then each part. */
export function declareSuite<Subject, Capability extends string, Scene extends AsyncDisposable>(
  title: string,
  harness: Harness<Subject, Capability>,
  runner: SuiteRunner,
  open: (subject: Subject) => Scene,
  parts: readonly ((suite: Suite<Scene, Capability>) => void)[],
): void {
  const { name, capabilities } = harness
  const test: Suite<Scene, Capability>['test'] = (testTitle, body) =>
    runner.test(testTitle, () =>
      harness.run(async (subject) => {
        await using scene = open(subject)
        await body(scene)
      }),
    )
  const suite: Suite<Scene, Capability> = {
    describe: (partTitle, define) => runner.describe(partTitle, define),
    test,
    testWith: (needed, testTitle, body) => {
      const capability = capabilities[needed]
      if (capability === true) test(testTitle, body)
      else runner.skip(testTitle, `${needed} is absent, ${capability.absent}`)
    },
  }
  runner.describe(`${title} on ${name}`, () => {
    const list = listCapabilities(capabilities)
    runner.test(`capabilities: ${list.join('; ')}`, async () => {
      runner.print([`${title} on ${name}`, ...list].join('\n  '))
    })
    for (const part of parts) part(suite)
  })
}

function listCapabilities(capabilities: Capabilities<string>): string[] {
  return Object.entries(capabilities).map(([capability, state]) =>
    state === true ? `${capability} is present` : `${capability} is absent, ${state.absent}`,
  )
}
