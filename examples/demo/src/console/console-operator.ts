import { setTimeout as sleep } from 'node:timers/promises'
import type { Connector } from '@waybill/connector'

/** Does what an operator has done before you open the console: a pause, a note, and replays. */
export async function playOperator(url: string, connector: Connector, signal: AbortSignal): Promise<void> {
  await connector.admin.pause('billing', { by: 'ana', reason: 'INC-311: wrong tax rate' })
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'waybill-csrf': '1' },
      body: JSON.stringify(body),
      signal,
    })
  // Once the first dead letters are there.
  await sleep(4_000, undefined, { signal }).catch(() => {})
  if (signal.aborted) return
  const replay = { type: 'REPLAY', binding: 'shipping', filter: { exception: 'NonRetryableError' } }
  await post('/eventbus/operations', {
    ...replay,
    // It pauses after the first two, which is the default.
    canary: { count: 2, settleMs: 30_000 },
    abortWhen: { failureRate: 0.5, minimum: 2 },
    reason: 'try two first: the carrier may be back',
  })
  await post('/eventbus/operations', {
    ...replay,
    filter: {},
    rate: 0.2,
    limit: 5,
    abortWhen: false,
    reason: 'slowly, to watch it',
  })
  await post('/eventbus/operations?dryRun=true', { ...replay, filter: {}, reason: 'a plan only' })
}
