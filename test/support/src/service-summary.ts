import { kinds, type ServiceName, serviceNames, usualServices, withoutPassword } from '@waybill/services'
import type { ServicesInRun, ServicesInUse } from './availability.ts'
import type { Requirements } from './requirement.ts'

/** A test as the summary sees it. */
export interface CountedTest {
  readonly services: ServicesInUse
  readonly isSkipped: boolean
  /** The reason it gave when it skipped itself. */
  readonly note?: string
}

/** The closing report on the real services. */
export interface ServiceSummary {
  readonly lines: readonly string[]
  /** Required services that are absent. Each is a failure of the run. */
  readonly failures: readonly string[]
}

/** Describes which real services the tests used, which they did not, why, and how to get those. */
export function summarizeServices(
  services: ServicesInRun,
  tests: readonly CountedTest[],
  requirements: Requirements,
): ServiceSummary {
  const absent = requirements.names.flatMap((name) => {
    const shared = name === 'node22' || name === 'chromium' ? undefined : services[name].shared
    return shared?.state === 'ABSENT' ? [`WAYBILL_REQUIRE names ${name}, and it is absent: ${shared.reason}.`] : []
  })
  return {
    lines: [
      'Real services:',
      ...serviceNames.map((name) => row(name, describeShared(name, services, tests))),
      ...serviceNames.flatMap((name) => describePrivate(name, services, tests)),
      ...describeNotes(tests),
    ],
    failures: [...requirements.problems, ...absent],
  }
}

function describeShared(name: ServiceName, services: ServicesInRun, tests: readonly CountedTest[]): string {
  const { shared } = services[name]
  const concerned = tests.filter((test) => test.services.shared?.includes(name))
  if (shared.state === 'ABSENT') {
    const skipped = concerned.length === 0 ? '' : `; ${count(concerned.length)} not run`
    const { variable } = kinds[name]
    const command = usualServices.includes(name) ? 'npm run services up' : `npm run services up ${name}`
    const advice = `\`${command}\` starts one where ${variable} is unset; where it is set, it must name one that answers.`
    return `not used: ${shared.reason}${skipped}. ${advice}`
  }
  const origin = shared.origin === 'STARTED_FOR_THIS_RUN' ? ', started for this run' : ''
  const ran = concerned.filter((test) => !test.isSkipped).length
  const use = ran === 0 ? 'no test of this run asked for it' : `used by ${count(ran)}`
  return `${withoutPassword(shared.url)}, version ${shared.version}${origin}: ${use}.`
}

function describePrivate(name: ServiceName, services: ServicesInRun, tests: readonly CountedTest[]): string[] {
  const concerned = tests.filter((test) => test.services.own?.includes(name))
  if (concerned.length === 0) return []
  const ran = concerned.filter((test) => !test.isSkipped).length
  if (ran > 0) return [row(name, `a private one was started for ${count(ran)}.`)]
  const { obstacle = 'they were skipped.' } = services[name]
  return [row(name, `no private one for ${count(concerned.length)}: ${obstacle}`)]
}

/** Collects the reasons of tests that skipped themselves, which are easily missed beside the tests. */
function describeNotes(tests: readonly CountedTest[]): string[] {
  const notes = new Map<string, number>()
  for (const { note } of tests) if (note !== undefined) notes.set(note, (notes.get(note) ?? 0) + 1)
  return [...notes].map(([note, times]) => `Skipped: ${note.replace(/\.$/, '')} (${count(times)}).`)
}

function row(name: ServiceName, text: string): string {
  return `  ${name.padEnd(8)}  ${text}`
}

function count(tests: number): string {
  return `${tests} ${tests === 1 ? 'test' : 'tests'}`
}
