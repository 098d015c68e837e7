import {
  type Decision,
  decide,
  kinds,
  locate,
  type Observation,
  type Seen,
  type StartedService,
} from '@waybill/services'
import { describe, expect, test } from 'vitest'

const kind = kinds.postgres
const usualUrl = kind.urlAt(5432)
const record: StartedService = {
  url: kind.urlAt(21_000),
  version: '18.4',
  folder: '/tmp/waybill-run-postgres-x',
  processes: [{ pid: 7, startedAt: 'then', stopSignal: 'SIGINT', logFile: '/tmp/x.log' }],
}

const answers = (url: string, version = '15'): Seen => ({ url, answer: { version }, isTaken: true })
const silent = (url: string): Seen => ({ url, refusal: 'refused', isTaken: false })
const unusable = (url: string): Seen => ({ url, refusal: 'wrong password', isTaken: true })

interface Row {
  readonly when: string
  readonly seen: Observation
  readonly action: Decision['action']
  readonly with: object
}

const rows: readonly Row[] = [
  {
    when: 'the usual port answers',
    seen: { usual: answers(usualUrl) },
    action: 'USE',
    with: { location: { state: 'FOUND', url: usualUrl, isNamed: false } },
  },
  {
    when: 'nothing listens on the usual port',
    seen: { usual: silent(usualUrl) },
    action: 'START',
    with: { port: 5432 },
  },
  {
    when: 'the usual port is held by something else',
    seen: { usual: unusable(usualUrl) },
    action: 'START',
    with: { port: 'FREE' },
  },
  {
    when: 'it is to be private',
    seen: {},
    action: 'START',
    with: { port: 'FREE' },
  },
  {
    when: 'one was started earlier',
    seen: { started: { ...answers(record.url), record }, usual: silent(usualUrl) },
    action: 'USE',
    with: { location: { state: 'STARTED', url: record.url } },
  },
  {
    when: 'one was started earlier and another has come to the usual port since',
    seen: { started: { ...answers(record.url), record }, usual: answers(usualUrl) },
    action: 'USE',
    with: { location: { state: 'STARTED', url: record.url } },
  },
  {
    when: 'the one that was started hangs',
    seen: { started: { ...unusable(record.url), record }, usual: answers(usualUrl) },
    action: 'FAIL',
    with: {
      because: { state: 'ABSENT', reason: expect.stringMatching(/process 7 was .*\(wrong password\).*`end it`/) },
    },
  },
  {
    when: 'the environment names one that answers',
    seen: { named: answers('postgres://me:secret@db/app'), usual: answers(usualUrl) },
    action: 'USE',
    with: { location: { state: 'FOUND', url: 'postgres://me:secret@db/app', isNamed: true } },
  },
  {
    when: 'the environment names one that does not answer',
    seen: { named: { ...silent('postgres://me@db/app'), isTaken: true }, usual: answers(usualUrl) },
    action: 'FAIL',
    with: {
      because: { state: 'ABSENT', reason: expect.stringMatching(/DATABASE_URL .*cannot be used.*unset DATABASE_URL/) },
    },
  },
  {
    when: 'the environment still names an address of ours where nothing listens any more',
    seen: { named: silent(kind.urlAt(25_432)), usual: silent(usualUrl) },
    action: 'START',
    with: { port: 25_432 },
  },
  {
    when: 'the environment names the one that was started',
    seen: { named: answers(record.url), started: { ...answers(record.url), record }, usual: silent(usualUrl) },
    action: 'USE',
    with: { location: { state: 'STARTED', url: record.url } },
  },
  {
    when: 'the environment names another than the one that was started',
    seen: { named: answers('postgres://db/app'), started: { ...answers(record.url), record }, usual: silent(usualUrl) },
    action: 'USE',
    with: { location: { state: 'FOUND', url: 'postgres://db/app' } },
  },
]

describe('what `up` does about a service', () => {
  test.each(rows)('$action when $when', ({ seen, action, with: rest }) => {
    expect(decide(kind, seen, { endWith: 'end it' })).toMatchObject({ action, ...rest })
  })

  test.each([
    { has: 1, wanted: undefined, action: 'USE' },
    { has: 3, wanted: 3, action: 'USE' },
    { has: 3, wanted: 1, action: 'USE' },
    { has: 1, wanted: 3, action: 'FAIL' },
  ])('a Kafka of $has brokers is $action when $wanted are asked for', ({ has, wanted, action }) => {
    const url = kinds.kafka.urlAt(9092)
    const seen: Observation = { usual: { url, answer: { version: '4.3', brokers: has }, isTaken: true } }
    expect(decide(kinds.kafka, seen, { brokers: wanted, endWith: 'end it' }).action).toBe(action)
  })

  test('a Kafka of too few brokers is there, but unsuitable, and the advice ends the right one', () => {
    const url = kinds.kafka.urlAt(21_000)
    const small: Seen = { url, answer: { version: '4.3', brokers: 1 }, isTaken: true }
    const wish = { brokers: 3, endWith: 'npm run services -- down --private kafka' }
    expect(decide(kinds.kafka, { started: { ...small, record: { ...record, url } } }, wish)).toEqual({
      action: 'FAIL',
      because: {
        state: 'UNSUITABLE',
        url,
        reason: 'it has 1 broker, and 3 were asked for. End it with `npm run services -- down --private kafka` first.',
      },
    })
    expect(decide(kinds.kafka, { usual: small }, wish)).toMatchObject({
      because: { reason: expect.stringContaining('`npm run services -- up --private --brokers 3 kafka`') },
    })
  })

  test('a number of brokers concerns Kafka alone', () => {
    expect(decide(kind, { usual: answers(usualUrl) }, { brokers: 3, endWith: 'end it' }).action).toBe('USE')
  })
})

describe('where a service is', () => {
  test('one that answers where nothing was started is found, and says its version', () => {
    expect(locate(kind, { usual: answers(usualUrl, '17.2') })).toEqual({
      state: 'FOUND',
      url: usualUrl,
      answer: { version: '17.2' },
      isNamed: false,
    })
  })

  test.each([
    ['nothing listens', silent(usualUrl), /nothing listens on port 5432/],
    ['something refuses', unusable(usualUrl), /port 5432 cannot be used \(wrong password\)/],
  ])('its absence has a reason when %s', (_, usual, reason) => {
    expect(locate(kind, { usual })).toEqual({ state: 'ABSENT', reason: expect.stringMatching(reason) })
  })
})
