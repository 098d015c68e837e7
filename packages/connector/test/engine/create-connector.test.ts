import { OptionsError } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import type { ConnectorOptions } from '../../src/api/connector.ts'
import { createConnector } from '../../src/engine/create-connector.ts'

const kafka = createKafkaClient({ brokers: ['localhost:9092'] })
const shape = 'an object with a KafkaClient for each name: { default: createKafkaClient({ brokers }) }'

/** Returns the violation of `clusters`. */
function problemsOf(clusters: unknown): readonly string[] {
  try {
    createConnector({ clusters } as ConnectorOptions)
    return []
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    return error.violations.map(({ path, problem }) => `${path} ${problem}`)
  }
}

describe('clusters that are not an object of clients are refused with the expected shape', () => {
  test.each([
    ['a client', kafka, `clusters must be ${shape}, got an object; did you mean { default: kafka }?`],
    ['a list of clients', [kafka], `clusters must be ${shape}, got a list of 1; did you mean { default: kafka }?`],
    ['an address', 'localhost:9092', `clusters must be ${shape}, got "localhost:9092"`],
    ['nothing', undefined, `clusters is required: ${shape}`],
    [
      'options of a client',
      { default: { brokers: ['localhost:9092'] } },
      'clusters.default must be a KafkaClient, made by createKafkaClient({ brokers }), got an object',
    ],
  ])('%s', (_what, clusters, problem) => {
    expect(problemsOf(clusters)).toEqual([problem])
  })

  test('an object of clients is accepted, whatever their names', () => {
    expect(problemsOf({ default: kafka, consumer: kafka })).toEqual([])
  })
})
