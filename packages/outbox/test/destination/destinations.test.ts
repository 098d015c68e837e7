import { createEnvelope, type EventEnvelope } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { Destinations } from '../../src/destination/destinations.ts'

const cluster = { destination: 'cluster' }
const narrowest = { destination: undefined }

function eventOf(eventId: string, partition = 'p0'): EventEnvelope {
  return createEnvelope({ eventId, eventType: 'x', aggregateId: partition, payloadJson: '{}' })
}

/** Destinations of a cluster with partitions, at a time that the test sets. */
function setup() {
  const time = { ms: 0 }
  const report: string[] = []
  const destinations = new Destinations({
    destinationsOf: ({ aggregateId }) => ['cluster', aggregateId ?? ''],
    clock: { now: () => 1_000_000 + time.ms, monotonic: () => time.ms },
    random: () => 0.5,
    closed: ({ destination }) => void report.push(`closed ${destination}`),
    opened: ({ destination }) => void report.push(`opened ${destination}`),
  })
  const fail = (event: EventEnvelope, where: { destination: string | undefined } = narrowest): string | undefined =>
    destinations.failed(event, where, 'away')
  const arrive = (event: EventEnvelope, begun = destinations.failures): void => destinations.reached(event, begun)
  /** Lets the next probe become due. */
  const toProbe = (name = 'p0'): void => {
    for (const probe of destinations.probes()) if (probe.name === name) time.ms = Math.max(time.ms, probe.at)
  }
  return { time, report, destinations, fail, arrive, toProbe }
}

const [a, b, c] = [eventOf('a'), eventOf('b'), eventOf('c')]

describe('an unavailable destination', () => {
  test('lets its events wait and others start', () => {
    const { destinations, fail } = setup()
    expect(fail(a)).toBe('p0')
    expect(destinations.admit(b)).toBe('p0')
    expect(destinations.admit(eventOf('d', 'p1'))).toBeUndefined()
  })

  test('admits one probe at a time', () => {
    const { destinations, fail, toProbe } = setup()
    fail(a)
    toProbe()
    expect(destinations.admit(b)).toBeUndefined()
    expect(destinations.admit(c)).toBe('p0')
  })

  test('is probed by another event than the one that failed last, if one waits', () => {
    const { destinations, fail, toProbe, time } = setup()
    fail(a)
    destinations.waits('p0', 'b')
    toProbe()
    expect(destinations.blockerOf(a)).toBe('p0')
    expect(destinations.blockerOf(b)).toBeUndefined()
    time.ms += 1_000
    expect(destinations.blockerOf(a)).toBeUndefined()
  })

  test('is probed with a backoff of at most 20 seconds', () => {
    const { destinations, fail, toProbe, time } = setup()
    fail(a)
    const gaps: number[] = []
    for (let probes = 0; probes < 12; probes++) {
      const before = time.ms
      toProbe()
      gaps.push(time.ms - before)
      const event = probes % 2 === 0 ? b : c
      destinations.admit(event)
      fail(event)
    }
    expect(gaps[0]).toBeLessThanOrEqual(300)
    expect(gaps.toSorted((one, other) => one - other)).toEqual(gaps)
    expect(gaps.at(-1)).toBeLessThanOrEqual(20_000)
    expect(gaps.at(-1)).toBeGreaterThanOrEqual(10_000)
  })

  test('backs off once for deliveries that fail together', () => {
    const { destinations, fail, toProbe, time } = setup()
    for (let n = 0; n < 64; n++) fail(eventOf(`together-${n}`))
    toProbe()
    expect(time.ms).toBeLessThanOrEqual(300)
    expect(destinations.unavailable()).toMatchObject([{ destination: 'p0', probes: 0, waiting: 64, more: false }])
  })

  test('is available again when its probe is delivered, at every level', () => {
    const { destinations, fail, arrive, toProbe, report } = setup()
    const opened: string[] = []
    destinations.whenOpened = (name) => void opened.push(name)
    fail(a)
    fail(b, cluster)
    toProbe()
    toProbe('cluster')
    expect(destinations.admit(c)).toBeUndefined()
    arrive(c)
    expect(opened).toEqual(['cluster', 'p0'])
    expect(report).toEqual(['closed p0', 'closed cluster', 'opened cluster', 'opened p0'])
    expect(destinations.isOpen).toBe(true)
  })

  test('stays unavailable when a delivery that began before the failure succeeds', () => {
    const { destinations, fail, arrive } = setup()
    const begun = destinations.failures
    fail(a)
    arrive(b, begun)
    expect(destinations.isOpen).toBe(false)
  })

  test('is probed by another event soon after a probe that failed for its own reason', () => {
    const { destinations, fail, toProbe, time } = setup()
    fail(a)
    toProbe()
    destinations.admit(b)
    destinations.ended(b)
    expect(destinations.admit(c)).toBe('p0')
    time.ms += 300
    expect(destinations.admit(c)).toBeUndefined()
  })

  test('is probed by another event after its probe was found out to fail for its own reason', () => {
    const { destinations, fail, arrive, time } = setup()
    fail(a)
    arrive(b)
    fail(c, cluster)
    time.ms += 300
    expect(destinations.admit(a)).toBeUndefined()
    expect(fail(a)).toBeUndefined()
    time.ms += 300
    expect(destinations.admit(eventOf('d', 'p1'))).toBeUndefined()
  })

  test('is searched for no probe while one is in progress, nor soon after none was found', () => {
    const { destinations, fail, toProbe, time } = setup()
    fail(a)
    toProbe()
    destinations.defer('p0')
    expect([...destinations.probes()]).toEqual([{ name: 'p0', at: time.ms + 200, lastFailed: 'a' }])
    destinations.admit(b)
    expect([...destinations.probes()]).toEqual([])
  })

  test('leaves a wider one to a probe of another partition when a probe fails at its own', () => {
    const { destinations, fail, toProbe, time } = setup()
    fail(a, cluster)
    for (let probes = 0; probes < 9; probes++) {
      toProbe('cluster')
      const event = probes % 2 === 0 ? b : c
      destinations.admit(event)
      fail(event, cluster)
    }
    toProbe('cluster')
    destinations.admit(c)
    expect(fail(c)).toBe('p0')
    time.ms += 300
    expect(destinations.admit(eventOf('d', 'p1'))).toBeUndefined()
  })

  test('is reported with its reason, the time and the event that probes', () => {
    const { destinations, fail, toProbe, time } = setup()
    time.ms = 5_000
    fail(a)
    toProbe()
    destinations.admit(b)
    expect(destinations.unavailable()).toEqual([
      {
        destination: 'p0',
        since: 1_005_000,
        reason: 'away',
        probes: 0,
        probingSince: 1_000_000 + time.ms,
        waiting: 1,
        more: false,
      },
    ])
    expect(destinations.waitOf('a')).toMatchObject({ destination: 'p0' })
    expect(destinations.waitOf('b')).toBeUndefined()
  })

  test('counts at most 10,000 waiting events', () => {
    const { destinations, fail } = setup()
    fail(a)
    for (let n = 0; n < 10_001; n++) destinations.waits('p0', `event-${n}`)
    expect(destinations.unavailable()).toMatchObject([{ waiting: 10_000, more: true }])
  })
})

describe('an event that only looks as if its destination were unavailable', () => {
  test('is found out when another event was delivered since its last failure', () => {
    const { destinations, fail, arrive, toProbe } = setup()
    fail(a)
    toProbe()
    destinations.admit(b)
    arrive(b)
    expect(fail(a)).toBeUndefined()
    expect(destinations.isOpen).toBe(true)
  })

  test('is not found out by a delivery that began before its failure', () => {
    const { destinations, fail, arrive } = setup()
    const begun = destinations.failures
    fail(a)
    arrive(b, begun)
    expect(fail(a)).toBe('p0')
  })

  test('is not found out by a delivery to another partition', () => {
    const { fail, arrive } = setup()
    fail(a)
    arrive(eventOf('d', 'p1'))
    expect(fail(a)).toBe('p0')
  })

  test('is not found out while others fail as well', () => {
    const { destinations, fail, arrive, toProbe } = setup()
    fail(a)
    toProbe()
    destinations.admit(b)
    arrive(b)
    expect(fail(c)).toBe('p0')
    expect(fail(a)).toBe('p0')
  })

  test('does not protect others like it once it is found out', () => {
    const { destinations, fail, arrive, toProbe } = setup()
    fail(a)
    fail(b)
    toProbe()
    destinations.admit(c)
    arrive(c)
    expect([fail(a), fail(b)]).toEqual([undefined, undefined])
  })
})

describe('nothing is computed', () => {
  test('before anything fails, and when every event that failed was delivered', () => {
    const { destinations, fail, arrive, toProbe } = setup()
    expect(destinations.isClear).toBe(true)
    fail(a)
    expect(destinations.isClear).toBe(false)
    toProbe()
    destinations.admit(a)
    arrive(a)
    expect(destinations.isClear).toBe(true)
  })

  test('ten minutes after the last failure, if nothing is unavailable', () => {
    const { destinations, fail, arrive, toProbe, time } = setup()
    fail(a)
    toProbe()
    destinations.admit(b)
    arrive(b)
    expect(destinations.isClear).toBe(false)
    time.ms += 600_000
    arrive(c)
    expect(destinations.isClear).toBe(true)
  })
})

test('an event without named destinations waits for its type', () => {
  const clock = { now: () => 0, monotonic: () => 0 }
  const deps = { clock, random: () => 0.5, closed: () => {}, opened: () => {} }
  const plain = new Destinations(deps)
  expect(plain.failed(a, { destination: 'elsewhere' }, 'away')).toBe('x')
  const broken = new Destinations({
    ...deps,
    destinationsOf: () => {
      throw new Error('a mistake')
    },
  })
  expect(broken.failed(a, narrowest, 'away')).toBe('x')
  const empty = new Destinations({ ...deps, destinationsOf: () => [] })
  expect(empty.failed(a, narrowest, 'away')).toBe('x')
})
