import { describe, expect, test } from 'vitest'
import { helpText, readAdminOptions, usualTopics } from '../../src/command/command-line.ts'

describe('the command line of waybill-admin', () => {
  test('has defaults for everything but the brokers', () => {
    expect(readAdminOptions(['--brokers', 'a:9092, b:9092'])).toEqual({
      brokers: ['a:9092', 'b:9092'],
      topics: usualTopics,
      host: '127.0.0.1',
      port: 4_400,
      tls: false,
      caFile: undefined,
      login: undefined,
      tokensFile: undefined,
      hidesPayloads: false,
    })
  })

  test('takes names, an address, tokens and a login', () => {
    const words =
      '--brokers a:1 --dlt x-dlt,y.* --host 0.0.0.0 --port 0 --tokens t --hide-payloads --ca c --sasl scram-sha-256 --username u --password-file p'
    expect(readAdminOptions(words.split(' '))).toEqual({
      brokers: ['a:1'],
      topics: ['x-dlt', 'y.*'],
      host: '0.0.0.0',
      port: 0,
      tls: true,
      caFile: 'c',
      login: { mechanism: 'SCRAM-SHA-256', username: 'u', passwordFile: 'p' },
      tokensFile: 't',
      hidesPayloads: true,
    })
  })

  test.each([
    ['', '--brokers is required'],
    ['--brokers ,', '--brokers is required'],
    ['--broker a:1', 'Did you mean --brokers?'],
    ['--brokers a:1 --port 70000', '--port is a number'],
    ['--brokers a:1 --port 44x', '--port is a number'],
    ['--brokers a:1 --sasl GSSAPI', '--sasl is one of'],
    ['--brokers a:1 --username u', 'A login takes'],
    ['--brokers a:1 --sasl PLAIN --username u', 'A login takes'],
    ['--brokers a:1 more', 'more'],
    ['--brokers', 'argument missing'],
  ])('%j is refused', (line, problem) => {
    const read = readAdminOptions(line.split(' ').filter((word) => word !== ''))
    expect(read).toMatchObject({ problem: expect.stringContaining(problem) })
  })

  test('prints its options', () => {
    expect(readAdminOptions(['--help'])).toBe('HELP')
    for (const name of ['brokers', 'dlt', 'host', 'port', 'tokens', 'hide-payloads', 'tls', 'ca', 'sasl'])
      expect(helpText()).toContain(`--${name}`)
  })
})
