/** Negotiation of API versions with a broker. */

import { apiTable } from '../api/api-table.ts'
import { ByteWriter } from '../api/byte-writer.ts'
import { errorCode, errorName } from '../api/error-codes.ts'
import type { KafkaApi } from '../api/kafka-apis.ts'
import type { BrokerSocket } from './broker-socket.ts'
import { UnsupportedApiError } from './kafka-transport.ts'

/** The version to use of each request; absent where client and broker have none in common. */
export type SpokenVersions = ReadonlyMap<KafkaApi, number>

/** The lowest and highest version that a broker accepts. */
export interface VersionRange {
  readonly min: number
  readonly max: number
}

const needed = 'Use Kafka 3.1 or later.'

/** Requests the broker's versions and chooses the ones to use. */
export async function askVersions(socket: BrokerSocket): Promise<SpokenVersions> {
  const reader = await socket.request({
    what: 'ApiVersions',
    apiKey: 18,
    apiVersion: 3,
    isFlexible: true,
    body: new ByteWriter().text('waybill').text('0').noTags(),
  })
  // The only response without tagged fields in its header, so that a broker of any version can be asked.
  const code = reader.int16()
  if (code !== errorCode.NONE) {
    throw new UnsupportedApiError(
      `Cannot negotiate API versions with ${socket.address}: ${errorName(code)}.`,
      'NOT_SENT',
      {
        hint: needed,
      },
    )
  }
  return chooseVersions(new Map(reader.structs(() => [reader.int16(), { min: reader.int16(), max: reader.int16() }])))
}

/** Chooses the highest common version of each request. */
export function chooseVersions(offered: ReadonlyMap<number, VersionRange>): SpokenVersions {
  const spoken = new Map<KafkaApi, number>()
  for (const api of Object.keys(apiTable) as KafkaApi[]) {
    const { key, versions } = apiTable[api]
    const range = offered.get(key)
    const version = range && versions.find((candidate) => candidate >= range.min && candidate <= range.max)
    if (version !== undefined) spoken.set(api, version)
  }
  return spoken
}

/** Creates the error for a request without a common version. */
export function notSpoken(api: KafkaApi, socket: BrokerSocket): UnsupportedApiError {
  return new UnsupportedApiError(
    `${socket.address} supports no version of ${api} that this client supports.`,
    'NOT_SENT',
    {
      hint: needed,
    },
  )
}
