/** Writes one record to a partition and returns the value that it reads back. */
export async function exchangeRecord(
  bootstrap: readonly string[],
  topic: string,
  value: string,
  partition = 0,
): Promise<string> {
  const { Consumer, MessagesStreamModes, Producer, stringDeserializers, stringSerializers } = await import(
    '@platformatic/kafka'
  )
  const connection = { clientId: 'waybill-test', bootstrapBrokers: [...bootstrap], retries: 5, retryDelay: 200 }
  const producer = new Producer({ ...connection, serializers: stringSerializers })
  // Reads by offset and without a group: this tests the log, not group coordination.
  const consumer = new Consumer({ ...connection, groupId: topic, deserializers: stringDeserializers })
  try {
    const { offsets } = await producer.send({ messages: [{ topic, partition, value }] })
    const offset = offsets?.[0]?.offset ?? 0n
    const stream = await consumer.consume({
      topics: [topic],
      mode: MessagesStreamModes.MANUAL,
      offsets: [{ topic, partition, offset }],
      autocommit: false,
      maxWaitTime: 500,
    })
    for await (const record of stream) return record.value
    throw new Error(`Topic ${topic} ended before its record was read.`)
  } finally {
    await Promise.all([producer.close(), consumer.close(true)])
  }
}
