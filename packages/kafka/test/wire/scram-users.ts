import { randomBytes } from 'node:crypto'
import { alterUserScramCredentialsV0, saslScramSha } from '@platformatic/kafka'
import type { NodeAddress } from '@waybill/kafka/wire'
import { brokerUser } from '@waybill/test-support'
import { openBrokerSocket } from '../../src/wire/broker/broker-socket.ts'

/** Makes {@link brokerUser} known for both kinds of SCRAM. A broker knows it a moment after. */
export async function createScramUsers(node: NodeAddress): Promise<void> {
  const socket = await openBrokerSocket(node, {
    clientId: 'setup',
    tls: false,
    maxResponseBytes: 2 ** 20,
    signal: undefined,
  })
  // One by one: a request may name a user once.
  for (const [mechanism, algorithm] of [
    [1, 'SHA-256'],
    [2, 'SHA-512'],
  ] as const) {
    const [salt, iterations] = [randomBytes(16), 4_096]
    const hash = saslScramSha.ScramAlgorithms[algorithm]
    const saltedPassword = await saslScramSha.hi(hash, brokerUser.password, salt, iterations)
    const reader = await socket.request({
      what: 'AlterUserScramCredentials',
      apiKey: alterUserScramCredentialsV0.api.key,
      apiVersion: alterUserScramCredentialsV0.api.version,
      isFlexible: true,
      body: alterUserScramCredentialsV0.createRequest(
        [],
        [{ name: brokerUser.name, mechanism, iterations, salt, saltedPassword }],
      ),
    })
    reader.skipTags()
    reader.int32()
    const [code] = reader.structs(() => {
      reader.text()
      const result = reader.int16()
      reader.nullableText()
      return result
    })
    if (code !== 0) throw new Error(`The user could not be made: ${code}`)
  }
  socket.close()
}
