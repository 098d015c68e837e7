import { Buffer } from 'node:buffer'
import { describe, expect, test } from 'vitest'
import { converseScram } from '../../../src/wire/broker/scram.ts'

// The exchange of RFC 7677, section 3.
const clientNonce = 'rOprNGfwEbeRWgbNEkqO'
const serverFirst = `r=${clientNonce}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`
const serverFinal = 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4='

function converse(...replies: readonly string[]): { readonly said: string[]; readonly done: Promise<void> } {
  const said: string[] = []
  const exchange = (message: Buffer): Promise<Buffer> => {
    said.push(message.toString())
    return Promise.resolve(Buffer.from(replies[said.length - 1] ?? ''))
  }
  return { said, done: converseScram(exchange, 'SHA-256', 'user', 'pencil', clientNonce) }
}

describe('SCRAM', () => {
  test('says what RFC 7677 says, and takes the server that knows the password', async () => {
    const { said, done } = converse(serverFirst, serverFinal)
    await done
    expect(said).toEqual([
      `n,,n=user,r=${clientNonce}`,
      `c=biws,r=${clientNonce}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=`,
    ])
  })

  test.each([
    ['that does not know the password', [serverFirst, `v=${Buffer.alloc(32).toString('base64')}`]],
    ['that sends no proof', [serverFirst, '']],
    ['that reports an error', [serverFirst, 'e=other-error']],
    ['that answers with the nonce of another', [`r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`]],
    ['that adds nothing to the nonce', [`r=${clientNonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`]],
    ['that asks for few iterations', [serverFirst.replace('4096', '100')]],
    ['that asks for endless iterations', [serverFirst.replace('4096', '2000000000')]],
    ['that asks for no number of iterations', [serverFirst.replace('4096', 'many')]],
    ['without salt', [`r=${clientNonce}x,i=4096`]],
    ['that says nothing', ['']],
  ])('refuses a server %s', async (_, replies) => {
    const { done } = converse(...replies)
    await expect(done).rejects.toThrow(Error)
    await expect(done).rejects.not.toThrow('pencil')
  })

  test('writes a name with commas and equal signs so that it stays one name', async () => {
    const said: string[] = []
    const exchange = (message: Buffer): Promise<Buffer> => {
      said.push(message.toString())
      return Promise.reject(new Error('over'))
    }
    await expect(converseScram(exchange, 'SHA-512', 'a,b=c,d', 'x', 'n')).rejects.toThrow('over')
    expect(said).toEqual(['n,,n=a=2Cb=3Dc=2Cd,r=n'])
  })
})
