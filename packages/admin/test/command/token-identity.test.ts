import { describe, expect, test } from 'vitest'
import { tokenIdentity } from '../../src/command/token-identity.ts'

const asked = (authorization?: string) => ({
  method: 'GET',
  url: '/',
  remoteAddress: '10.0.0.9',
  headers: authorization === undefined ? {} : { authorization },
})

describe('tokens', () => {
  const identify = tokenIdentity('# operators\n\neve  0123456789abcdef\r\nana fedcba9876543210\n')

  test.each([
    ['Bearer 0123456789abcdef', { by: 'eve' }],
    ['bearer fedcba9876543210', { by: 'ana' }],
    ['Bearer 0123456789abcde', null],
    ['Bearer ', null],
    ['Basic 0123456789abcdef', null],
    ['Bearer eve', null],
    [undefined, null],
  ])('%s is %j', (authorization, identity) => {
    expect(identify(asked(authorization))).toEqual(identity)
  })

  test.each(['', '# none', 'eve', 'eve short', 'eve 0123456789abcdef more'])('%j is refused', (lines) => {
    expect(() => tokenIdentity(lines)).toThrow(/token/i)
  })
})
