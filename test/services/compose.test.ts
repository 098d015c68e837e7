import { readFileSync } from 'node:fs'
import { kinds, serverProperties, serviceNames } from '@waybill/services'
import { describe, expect, test } from 'vitest'

const compose = readFileSync(new URL('../../compose.yaml', import.meta.url), 'utf8')

/** Settings of addresses and folders, which differ in a container. */
const placement = /^(?:listeners|advertised\.listeners|log\.dirs|controller\.quorum\.voters)$/

describe('compose.yaml', () => {
  test.each(serviceNames)('offers %s on its usual port of this machine alone', (name) => {
    const { usualPort } = kinds[name]
    expect(compose).toContain(`\n  ${name}:\n`)
    expect(compose).toContain(`ports: ['127.0.0.1:${usualPort}:${usualPort}']`)
  })

  test('configures Kafka as `npm run services` does', () => {
    const node = { id: 1, port: 9092, controllerPort: 9093, folder: '/tmp' }
    const settings = serverProperties(node, [node])
      .trimEnd()
      .split('\n')
      .map((line) => line.split('=') as [string, string])
      .filter(([name]) => !placement.test(name))
    const inCompose = new Map(
      [...compose.matchAll(/^ {6}(KAFKA_\w+): '?([^'\n]*)'?$/gm)].map(([, name = '', value = '']) => [name, value]),
    )
    for (const [name, value] of settings) {
      const variable = `KAFKA_${name.toUpperCase().replaceAll('.', '_')}`
      expect([variable, inCompose.get(variable)]).toEqual([variable, value])
    }
  })
})
