/** Kafka's own rule for the names of topics. */
export const legalTopicName: RegExp = /^(?!\.{1,2}$)[\w.-]{1,249}$/
