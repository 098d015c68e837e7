/** A forked process that writes numbers to the cluster of its parent, and reports each acknowledged one. */

import { createKafkaClient } from '@waybill/kafka'
import { parentTransport } from '@waybill/sim'

const [broker = '', count = '0'] = process.argv.slice(2)
const kafka = createKafkaClient({ brokers: [broker], transport: parentTransport() })
const producer = kafka.producer('EVENT')
for (let number = 0; number < Number(count); number++) {
  // oxlint-disable-next-line no-await-in-loop -- The parent kills between two of them.
  await producer.send({ topic: 'numbers', key: null, value: Buffer.from(String(number)) })
  process.send?.({ acknowledged: number })
}
await kafka.close()
