/** Answers of the API in the sizes that the console must bear. */

const started = Date.parse('2026-11-16T06:00:00Z')
const filter = { since: null, until: null }
const source = { mode: 'INDEX', rule: '1', isComplete: true, topics: [] }

/** Returns a page of 100 of 100,000 dead letters. */
export function letterPage(page: number): object {
  return {
    items: Array.from({ length: 100 }, (_, at) => letterOf(page * 100 + at)),
    next: `page-${page + 1}`,
    total: { count: '100000', exact: true },
    filter,
    source,
  }
}

/** The group of these dead letters. */
export const letterGroup: object = {
  group: 'a1',
  state: 'OPEN',
  note: null,
  by: null,
  count: '100000',
  firstAt: new Date(started).toISOString(),
  lastAt: new Date(started).toISOString(),
  binding: 'shipping',
  event: 'order.placed',
  exception: 'HttpError',
  message: bytesOf('502 from shipping-api'),
  frame: 'src/shipping.ts',
  replayed: '0',
  failedAgain: '0',
  sample: 'orders.DLT:0:0',
}

/** Returns a series of so many points, ten seconds apart. */
export function seriesOf(metric: string, count: number): object {
  const points = Array.from({ length: count }, (_, at) => ({
    at: new Date(started + at * 10_000).toISOString(),
    value: Math.round(500 + 400 * Math.sin(at / 90) + (at % 7) * 20),
  }))
  return { metric, labels: {}, points }
}

function letterOf(no: number): object {
  return {
    id: `orders.DLT:${no % 8}:${no}`,
    binding: 'shipping',
    consumerGroup: 'shipping',
    state: 'OPEN',
    group: 'a1',
    deadAt: new Date(started + no * 137).toISOString(),
    reason: 'RETRIES_EXHAUSTED',
    exception: 'HttpError',
    message: bytesOf(`502 from shipping-api: order o-${no}`),
    event: 'order.placed',
    eventId: `01KD0${no}`,
    key: bytesOf(`o-${no}`),
    totalAttempts: 13,
    replayCount: 0,
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    bytes: 412,
    original: { topic: 'orders', partition: no % 8, offset: String(9_007_199_254_740_993n + BigInt(no)), at: null },
    operation: null,
  }
}

function bytesOf(text: string): object {
  return { encoding: 'utf8', text, bytes: text.length }
}
