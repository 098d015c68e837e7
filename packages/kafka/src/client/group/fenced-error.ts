import { KafkaError } from '../cluster/kafka-error.ts'

/** Creates the error for two processes that share an instance id, when the other one joined later. */
export function fencedError(groupId: string, instanceId: string | null): KafkaError {
  return new KafkaError(`Another member of group ${groupId} has the instance id ${instanceId}.`, 'FENCED', {
    reason: 'FENCED_INSTANCE_ID',
    hint: 'Give each process its own instance id.',
  })
}
