import { OptionsError } from '@waybill/core'
import { type BrokerTransportOptions, createBrokerTransport } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'

function violationsOf(given: unknown): readonly string[] {
  try {
    createBrokerTransport(given as BrokerTransportOptions)
  } catch (error) {
    expect(error).toBeInstanceOf(OptionsError)
    expect(JSON.stringify(error)).not.toContain('hunter2')
    return (error as OptionsError).violations.map(({ path }) => path)
  }
  return []
}

describe('the options of the transport', () => {
  test.each([
    [{}],
    [{ tls: {}, sasl: false }],
    [{ sasl: { mechanism: 'PLAIN', username: 'a', password: () => 'b' } }],
    [
      {
        sasl: { mechanism: 'OAUTHBEARER', token: () => Promise.resolve('t'), extensions: { logicalCluster: 'lkc-1' } },
      },
    ],
    [{ maxResponseBytes: 2 ** 31 - 1 }],
  ])('%j are taken', (given) => {
    expect(violationsOf(given)).toEqual([])
  })

  test.each([
    [{ ssl: {} }, ['ssl']],
    [{ tls: true }, ['tls']],
    [{ sasl: { mechanism: 'scram', username: 'a', password: 'hunter2' } }, ['sasl.mechanism']],
    [{ sasl: { mechanism: 'PLAIN', username: 'a' } }, ['sasl.password']],
    [{ sasl: { mechanism: 'OAUTHBEARER' } }, ['sasl.token']],
    [{ sasl: { mechanism: 'PLAIN', username: 'a', password: ['hunter2'] } }, ['sasl.password']],
    [{ tls: 'hunter2' }, ['tls']],
    [{ sasl: 'hunter2' }, ['sasl']],
    [{ sasl: { mechanism: 'hunter2', username: 'a', password: 'b' } }, ['sasl.mechanism']],
    [{ sasl: { mechanism: 'OAUTHBEARER', token: 't', extensions: 'hunter2' } }, ['sasl.extensions']],
    [{ sasl: { mechanism: 'OAUTHBEARER', token: 't', extensions: { a: ['hunter2'] } } }, ['sasl.extensions.a']],
    [{ maxResponseBytes: 10 }, ['maxResponseBytes']],
  ])('%j are refused, and no secret is shown', (given, paths) => {
    expect(violationsOf(given)).toEqual(paths)
  })
})
