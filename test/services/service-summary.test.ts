import { type CountedTest, type ServicesInRun, summarizeServices } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'

const services: ServicesInRun = {
  kafka: {
    shared: { state: 'ABSENT', reason: 'nothing listens on port 9092' },
    obstacle: 'There is no Java.',
    isRequired: false,
  },
  postgres: {
    shared: { state: 'PRESENT', url: 'postgres://me:secret@db/app', version: '18.4', origin: 'STARTED_FOR_THIS_RUN' },
    isRequired: false,
  },
  mysql: {
    shared: { state: 'PRESENT', url: 'mysql://root@127.0.0.1:3306/', version: '10.11', origin: 'FOUND' },
    isRequired: false,
  },
  redis: {
    shared: { state: 'PRESENT', url: 'redis://127.0.0.1:6379', version: '7', origin: 'FOUND' },
    isRequired: false,
  },
  registry: { shared: { state: 'ABSENT', reason: 'nothing listens on port 8081' }, isRequired: false },
}
const tests: readonly CountedTest[] = [
  { services: {}, isSkipped: false },
  { services: { shared: ['postgres'] }, isSkipped: false },
  { services: { shared: ['postgres', 'kafka'] }, isSkipped: true },
  { services: { own: ['redis'] }, isSkipped: false },
  { services: { own: ['kafka'] }, isSkipped: true },
  { services: {}, isSkipped: true, note: 'kcat is not installed' },
]

describe('the end of a run', () => {
  test('says which services were used, which were not, why, and how to get them', () => {
    const { lines, failures } = summarizeServices(services, tests, { names: [], problems: [] })
    expect(lines).toEqual([
      'Real services:',
      '  kafka     not used: nothing listens on port 9092; 1 test not run. `npm run services up` starts one where KAFKA_BOOTSTRAP is unset; where it is set, it must name one that answers.',
      '  postgres  postgres://me:***@db/app, version 18.4, started for this run: used by 1 test.',
      '  mysql     mysql://root@127.0.0.1:3306/, version 10.11: no test of this run asked for it.',
      '  redis     redis://127.0.0.1:6379, version 7: no test of this run asked for it.',
      '  registry  not used: nothing listens on port 8081. `npm run services up registry` starts one where SCHEMA_REGISTRY_URL is unset; where it is set, it must name one that answers.',
      '  kafka     no private one for 1 test: There is no Java.',
      '  redis     a private one was started for 1 test.',
      'Skipped: kcat is not installed (1 test).',
    ])
    expect(failures).toEqual([])
  })

  test('is a failure for each service that is required and absent, and for a requirement nobody knows', () => {
    const requirements = { names: ['kafka', 'redis', 'node22'] as const, problems: ['WAYBILL_REQUIRE names "x"'] }
    expect(summarizeServices(services, tests, requirements).failures).toEqual([
      'WAYBILL_REQUIRE names "x"',
      'WAYBILL_REQUIRE names kafka, and it is absent: nothing listens on port 9092.',
    ])
  })
})
