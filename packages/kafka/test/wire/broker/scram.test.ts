import { Buffer } from 'node:buffer'
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { PeerError } from '../../../src/wire/broker/peer-error.ts'
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

/** The server's side of RFC 5802. */
function serverOf(algorithm: 'SHA-256' | 'SHA-512', password: string, iterations: number) {
  const [name, bytes] = algorithm === 'SHA-256' ? (['sha256', 32] as const) : (['sha512', 64] as const)
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, iterations, bytes, name)
  const hmac = (key: Buffer, data: string): Buffer => createHmac(name, key).update(data).digest()
  const storedKey = createHash(name).update(hmac(salted, 'Client Key')).digest()
  const said: string[] = []
  let isProven = false
  const exchange = (message: Buffer): Promise<Buffer> => {
    const text = message.toString()
    if (said.length === 0) {
      const clientFirst = text.slice('n,,'.length)
      const nonce = `${/r=(.*)$/.exec(clientFirst)?.[1]}server`
      said.push(clientFirst, `r=${nonce},s=${salt.toString('base64')},i=${iterations}`)
      return Promise.resolve(Buffer.from(said[1] ?? ''))
    }
    const [clientFinal = '', proof = ''] = text.split(',p=')
    const signed = [...said, clientFinal].join()
    const signature = hmac(storedKey, signed)
    const clientKey = Buffer.from(Buffer.from(proof, 'base64').map((byte, at) => byte ^ (signature[at] as number)))
    isProven = createHash(name).update(clientKey).digest().equals(storedKey)
    return Promise.resolve(Buffer.from(`v=${hmac(hmac(salted, 'Server Key'), signed).toString('base64')}`))
  }
  return { exchange, isProven: () => isProven }
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
    ['that sends a short proof', [serverFirst, 'v=AAAA']],
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
    await expect(done).rejects.toBeInstanceOf(PeerError)
    await expect(done).rejects.not.toThrow('pencil')
  })

  test.each([
    ['SHA-256', 4_096],
    ['SHA-256', 200_000],
    ['SHA-512', 4_096],
  ] as const)(
    'proves the password with %s and %s iterations, to a server that proves it too',
    async (algorithm, iterations) => {
      const server = serverOf(algorithm, 'pencil', iterations)
      await converseScram(server.exchange, algorithm, 'user', 'pencil')
      expect(server.isProven()).toBe(true)
    },
  )

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
